package accept

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

const (
	int64Type = types_go_proto.DataType_DT_INT64
	variants  = types_go_proto.DataType_DT_VARIANT
	huge      = 1<<31 - 1
)

// integers is a vector of int64 or int32.
func integers(name string, d types_go_proto.DataType, values ...int64) *node_def_go_proto.NodeDef {
	t := sized(d, int64(len(values)))
	for _, v := range values {
		t.Int64Val, t.IntVal = append(t.Int64Val, v), append(t.IntVal, int32(v))
	}
	if d == int64Type {
		t.IntVal = nil
	} else {
		t.Int64Val = nil
	}
	return constant(name, t)
}

// single is a scalar int64 or int32.
func single(name string, d types_go_proto.DataType, v int64) *node_def_go_proto.NodeDef {
	n := integers(name, d, v)
	n.Attr["value"].GetTensor().TensorShape = nil
	return n
}

// word is a scalar string.
func word(name, v string) *node_def_go_proto.NodeDef {
	t := sized(words)
	t.StringVal = [][]byte{[]byte(v)}
	return constant(name, t)
}

// listed adds a list as an attribute.
func listed(n *node_def_go_proto.NodeDef, name string, l *attr_value_go_proto.AttrValue_ListValue) *node_def_go_proto.NodeDef {
	n.Attr[name] = &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_List{List: l}}
	return n
}

// growing is an endless loop whose value grows in each iteration.
func growing(t types_go_proto.DataType, start *node_def_go_proto.NodeDef, body ...*node_def_go_proto.NodeDef) *graph_go_proto.GraphDef {
	yes := sized(truth)
	yes.BoolVal = []bool{true}
	last := body[len(body)-1].GetName()
	g := graphOf(append(body, start,
		node("enter", "Enter", []string{start.GetName()}, "T", t, "frame_name", "f", "is_constant", false, "parallel_iterations", 10),
		node("merge", "Merge", []string{"enter", "next"}, "T", t, "N", 2),
		constant("yes", yes), node("again", "Enter", []string{"yes"}, "T", truth, "frame_name", "f", "is_constant", true, "parallel_iterations", 10),
		node("cond", "LoopCond", []string{"again"}), node("switch", "Switch", []string{"merge", "cond"}, "T", t),
		node("next", "NextIteration", []string{last}, "T", t), node("exit", "Exit", []string{"switch"}, "T", t), node("end", "Identity", []string{"exit"}, "T", t))...)
	return g
}

// outer is a loop-invariant value.
func outer(name, of string, t types_go_proto.DataType) *node_def_go_proto.NodeDef {
	return node(name, "Enter", []string{of}, "T", t, "frame_name", "f", "is_constant", true, "parallel_iterations", 10)
}

// sizeAttacks are small graphs that need much memory or time.
func sizeAttacks() map[string]*graph_go_proto.GraphDef {
	one := sized(float, 1)
	f := constant("f", one)
	return map[string]*graph_go_proto.GraphDef{
		"OneHot":             graphOf(integers("i", int32Type, 1, 2), single("n", int32Type, huge), constant("on", sized(float)), node("out", "OneHot", []string{"i", "n", "on", "on"}, "T", float, "TI", int32Type, "axis", -1)),
		"Range":              graphOf(single("a", int64Type, 0), single("b", int64Type, 1<<62), single("c", int64Type, 1), node("out", "Range", []string{"a", "b", "c"}, "Tidx", int64Type)),
		"LinSpace":           graphOf(constant("a", sized(float)), single("n", int32Type, huge), node("out", "LinSpace", []string{"a", "a", "n"}, "T", float, "Tidx", int32Type)),
		"Tile":               graphOf(f, integers("n", int32Type, huge), node("out", "Tile", []string{"f", "n"}, "T", float, "Tmultiples", int32Type)),
		"Tile of words":      graphOf(text("f", "w"), integers("n", int32Type, 1<<28), node("out", "Tile", []string{"f", "n"}, "T", words, "Tmultiples", int32Type)),
		"BroadcastTo":        graphOf(f, integers("n", int64Type, 1<<40), node("out", "BroadcastTo", []string{"f", "n"}, "T", float, "Tidx", int64Type)),
		"TensorArrayV3":      graphOf(single("n", int32Type, huge), node("out", "TensorArrayV3", []string{"n"}, "dtype", float)),
		"TensorListReserve":  graphOf(single("n", int32Type, huge), integers("s", int32Type), node("out", "TensorListReserve", []string{"s", "n"}, "element_dtype", float, "shape_type", int32Type)),
		"RandomUniform":      graphOf(integers("s", int64Type, 1<<31, 1<<31), node("out", "RandomUniform", []string{"s"}, "T", int64Type, "dtype", float, "seed", 1, "seed2", 1)),
		"UnsortedSegmentSum": graphOf(f, integers("i", int32Type, 0), single("n", int32Type, huge), node("out", "UnsortedSegmentSum", []string{"f", "i", "n"}, "T", float, "Tindices", int32Type, "Tnumsegments", int32Type)),
		"ScatterNd":          graphOf(zeros("i", 1, 1), f, integers("s", int32Type, huge), node("out", "ScatterNd", []string{"i", "f", "s"}, "T", float, "Tindices", int32Type)),
		"SparseToDense":      graphOf(integers("i", int64Type, 0), integers("s", int64Type, 1<<40), f, constant("d", sized(float)), node("out", "SparseToDense", []string{"i", "s", "f", "d"}, "T", float, "Tindices", int64Type, "validate_indices", true)),
		"Bincount":           graphOf(integers("i", int32Type, 0), single("n", int32Type, huge), constant("w", sized(float, 0)), node("out", "Bincount", []string{"i", "n", "w"}, "T", float)),
		"MatrixDiagV3":       graphOf(f, single("k", int32Type, 0), single("n", int32Type, 1<<30), constant("p", sized(float)), node("out", "MatrixDiagV3", []string{"f", "k", "n", "n", "p"}, "T", float, "align", "RIGHT_LEFT")),
		"ResizeBilinear":     graphOf(constant("f", sized(float, 1, 1, 1, 1)), integers("s", int32Type, 1<<20, 1<<20), node("out", "ResizeBilinear", []string{"f", "s"}, "T", float, "align_corners", false, "half_pixel_centers", false)),
		"SpaceToBatchND":     graphOf(constant("f", sized(float, 1, 1, 1)), integers("b", int32Type, 1), matrix("p", 0, huge-1), node("out", "SpaceToBatchND", []string{"f", "b", "p"}, "T", float, "Tblock_shape", int32Type, "Tpaddings", int32Type)),
		"Pad":                graphOf(f, matrix("p", huge, huge), node("out", "Pad", []string{"f", "p"}, "T", float, "Tpaddings", int32Type)),
		"Conv2DBackpropInput": graphOf(integers("s", int32Type, huge, huge, huge, 1), constant("f", sized(float, 1, 1, 1, 1)), listed(node("out", "Conv2DBackpropInput", []string{"s", "f", "f"}, "T", float, "padding", "SAME", "data_format", "NHWC"),
			"strides", &attr_value_go_proto.AttrValue_ListValue{I: []int64{1, 1, 1, 1}})),
		"AsString":    graphOf(f, node("out", "AsString", []string{"f"}, "T", float, "width", 1<<30, "precision", -1, "fill", "", "scientific", false, "shortest", false)),
		"Multinomial": graphOf(constant("f", sized(float, 1, 2)), single("n", int32Type, huge), node("out", "Multinomial", []string{"f", "n"}, "T", float, "seed", 1, "seed2", 1, "output_dtype", int64Type)),
		"RaggedRange": graphOf(integers("a", int64Type, 0), integers("b", int64Type, 1<<62), integers("c", int64Type, 1), node("out", "RaggedRange", []string{"a", "b", "c"}, "T", int64Type, "Tsplits", int64Type)),
		"Unpack":      graphOf(f, node("out", "Unpack", []string{"f"}, "T", float, "num", 1<<40, "axis", 0)),
		"StringJoin":  graphOf(word("w", strings.Repeat("w", 1<<20)), node("out", "StringJoin", slices.Repeat([]string{"w"}, 1000), "N", 1000, "separator", "")),
	}
}

// zeros is a tensor of zeros.
func zeros(name string, dims ...int64) *node_def_go_proto.NodeDef {
	return constant(name, sized(int32Type, dims...))
}

// matrix is a matrix with one row.
func matrix(name string, values ...int64) *node_def_go_proto.NodeDef {
	n := integers(name, int32Type, values...)
	n.Attr["value"].GetTensor().TensorShape = sized(float, 1, int64(len(values))).TensorShape
	return n
}

// textAttacks are patterns and records that are damaged, or expand.
func textAttacks() map[string]*graph_go_proto.GraphDef {
	replaced := func(in, pattern, by string) *graph_go_proto.GraphDef {
		return graphOf(word("in", in), word("pattern", pattern), word("by", by), node("out", "RegexReplace", []string{"in", "pattern", "by"}, "replace_global", true))
	}
	matched := func(in, pattern string) *graph_go_proto.GraphDef {
		return graphOf(word("in", in), word("pattern", pattern), node("out", "RegexFullMatch", []string{"in", "pattern"}))
	}
	many := sized(words, 1<<31)
	many.StringVal = [][]byte{{}}
	empty := sized(words, 16<<20)
	empty.StringVal = slices.Repeat([][]byte{{}}, 16<<20)
	csv := func(record string, columns int) *graph_go_proto.GraphDef {
		g := graphOf(word("in", record))
		inputs := []string{"in"}
		types := slices.Repeat([]types_go_proto.DataType{float}, columns)
		for i := range columns {
			g.Node = append(g.Node, constant(fmt.Sprint("d", i), sized(float, 1)))
			inputs = append(inputs, fmt.Sprint("d", i))
		}
		out := listed(node("out", "DecodeCSV", inputs, "OUT_TYPE", types, "field_delim", ",", "use_quote_delim", true, "na_value", ""), "select_cols", &attr_value_go_proto.AttrValue_ListValue{})
		g.Node = append(g.Node, out)
		return g
	}
	example := func(record string, dims ...int64) *graph_go_proto.GraphDef {
		out := node("out", "ParseSingleExample", []string{"in", "d"}, "num_sparse", 0, "Tdense", []types_go_proto.DataType{float})
		listed(out, "sparse_keys", &attr_value_go_proto.AttrValue_ListValue{})
		listed(out, "sparse_types", &attr_value_go_proto.AttrValue_ListValue{})
		listed(out, "dense_keys", &attr_value_go_proto.AttrValue_ListValue{S: [][]byte{[]byte("k")}})
		listed(out, "dense_shapes", &attr_value_go_proto.AttrValue_ListValue{Shape: []*tensor_shape_go_proto.TensorShapeProto{sized(float, dims...).TensorShape}})
		return graphOf(word("in", record), constant("d", sized(float, 0)), out)
	}
	return map[string]*graph_go_proto.GraphDef{
		"a large pattern":      replaced("a", "((a{1000}){1000})", "b"),
		"a pattern of 100 KiB": matched(strings.Repeat("a", 1<<20), strings.Repeat("(a?b?){100}", 10<<10)),
		"nested patterns":      matched("a", strings.Repeat("(", 100_000)+strings.Repeat(")", 100_000)),
		"a large replacement":  replaced(strings.Repeat("a", 1<<20), "a", strings.Repeat("b", 1<<20)),
		"groups repeated":      replaced(strings.Repeat("a", 1<<20), "(.*)", strings.Repeat(`\1`, 1<<15)),
		"a damaged pattern":    matched("a", "(?P<"),
		"2^31 strings":         graphOf(constant("out", many)),
		"empty strings":        graphOf(constant("in", empty), node("out", "StringJoin", []string{"in", "in"}, "N", 2, "separator", strings.Repeat("s", 1<<16))),
		"a damaged CSV":        csv(`"`+strings.Repeat(`""`, 1<<20), 2),
		"a CSV of commas":      csv(strings.Repeat(",", 1<<20), 2),
		"a CSV of words":       csv("x", 1),
		"an odd DecodeRaw":     graphOf(text("in", "abc", "d"), node("out", "DecodeRaw", []string{"in"}, "out_type", float, "little_endian", true)),
		"a damaged example":    example("\x0a\xff\xff\xff\xff\x0f", 1),
		"a large example":      example("", 1<<40),
		"an endless example":   example("", 1<<40, 1<<40),
		"DecodeBase64":         graphOf(word("in", "*"), node("out", "DecodeBase64", []string{"in"})),
	}
}

// loopAttacks are loops that grow without end.
func loopAttacks() map[string]*graph_go_proto.GraphDef {
	empty := []*node_def_go_proto.NodeDef{single("shape", int32Type, -1), single("most", int32Type, -1)}
	list := node("list", "EmptyTensorList", []string{"shape", "most"}, "element_dtype", float, "shape_type", int32Type)
	pushed := func(dims ...int64) *graph_go_proto.GraphDef {
		g := growing(variants, list, outer("inner", "item", float), node("push", "TensorListPushBack", []string{"switch:1", "inner"}, "element_dtype", float))
		item := constant("item", sized(float, dims...))
		item.Attr["value"].GetTensor().FloatVal = []float32{1}
		length := g.Node[len(g.Node)-1]
		length.Op, length.Attr = "TensorListLength", nil
		g.Node = slices.Insert(g.Node, 0, append(empty, item)...)
		return g
	}
	stack := growing(float, constant("x", sized(float)), outer("inner", "stack", types_go_proto.DataType_DT_RESOURCE), node("push", "StackPushV2", []string{"inner", "switch:1"}, "T", float, "swap_memory", false))
	stack.Node = slices.Insert(stack.Node, 0, single("most", int32Type, -1), node("stack", "StackV2", []string{"most"}, "elem_type", float, "stack_name", ""))
	return map[string]*graph_go_proto.GraphDef{
		"a list of large tensors": pushed(1 << 18),
		"a list of scalars":       pushed(),
		"a stack of scalars":      stack,
		"a vector doubled":        growing(float, constant("x", sized(float, 1)), single("axis", int32Type, 0), outer("along", "axis", int32Type), node("twice", "ConcatV2", []string{"switch:1", "switch:1", "along"}, "N", 2, "T", float, "Tidx", int32Type)),
		"a string doubled":        growing(words, word("x", "x"), node("twice", "StringJoin", []string{"switch:1", "switch:1"}, "N", 2, "separator", "")),
	}
}

// fileAttacks read and write files that are not allowed, or too large.
func (x *target) fileAttacks() (all map[string]*graph_go_proto.GraphDef, outside string) {
	t := x.t
	outside = t.TempDir()
	secret := filepath.Join(outside, "secret")
	in := func(name string) string { return filepath.Join(x.allowed, name) }
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(secret, []byte("secret"), 0o600))
	check(os.Symlink(outside, in("folder")))
	check(os.Symlink(secret, in("file")))
	check(os.Symlink("/proc/self", in("self")))
	check(os.WriteFile(in("sparse"), nil, 0o600))
	check(os.Truncate(in("sparse"), 1<<40))
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write(make([]byte, 16<<20))
	check(err)
	check(z.Close())
	check(os.WriteFile(in("bomb"), bytes.Repeat(bomb.Bytes(), 64), 0o600))
	check(os.WriteFile(in("record"), append(binary.LittleEndian.AppendUint64(nil, 1<<62), make([]byte, 100)...), 0o600))
	check(os.WriteFile(in("ckpt.index"), bytes.Repeat([]byte{0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb}, 10), 0o600))
	read := func(path string) *graph_go_proto.GraphDef {
		return graphOf(word("in", path), node("out", "ReadFile", []string{"in"}))
	}
	write := func(path string) *graph_go_proto.GraphDef {
		return graphOf(word("in", path), word("what", "x"), node("write", "WriteFile", []string{"in", "what"}))
	}
	glob := func(path string) *graph_go_proto.GraphDef {
		one := integers("one", int32Type, 1) // without a match the shape is different
		return graphOf(word("in", path), node("files", "MatchingFiles", []string{"in"}), one, node("out", "Reshape", []string{"files", "one"}, "T", words, "Tshape", int32Type))
	}
	dataset := func(op, path, compression string) *graph_go_proto.GraphDef {
		types, unknown := &attr_value_go_proto.AttrValue_ListValue{Type: []types_go_proto.DataType{words}}, &attr_value_go_proto.AttrValue_ListValue{Shape: []*tensor_shape_go_proto.TensorShapeProto{{}}}
		set := node("set", op, []string{"in", "compression", "buffer"})
		out := listed(listed(node("out", "DatasetToSingleElement", []string{"set"}), "output_types", types), "output_shapes", unknown)
		return graphOf(text("in", path), word("compression", compression), single("buffer", int64Type, 1<<40), set, out)
	}
	fixed := graphOf(text("in", in("sparse")), single("zero", int64Type, 0), single("size", int64Type, 1<<39), node("set", "FixedLengthRecordDataset", []string{"in", "zero", "size", "zero", "zero"}))
	fixed.Node = append(fixed.Node, dataset("", "", "").Node[4])
	all = map[string]*graph_go_proto.GraphDef{
		"read above":          read(x.allowed + "/../" + filepath.Base(outside) + "/secret"),
		"read by a link":      read(in("file")),
		"read in a link":      read(in("folder/secret")),
		"read the process":    read("/proc/self/environ"),
		"read by the process": read(in("self/environ")),
		"read a folder":       read(x.allowed),
		"read a huge file":    read(in("sparse")),
		"read URI":            read("file://" + secret),
		"read a long name":    read(in(strings.Repeat("n", 1<<20))),
		"read NUL":            read(in("x\x00y")),
		"read relative":       read("../../../../../../etc/passwd"),
		"write above":         write(x.allowed + "/../escaped"),
		"write in a link":     write(in("folder/escaped")),
		"write a folder":      write(x.allowed),
		"match all":           glob("/etc/passw*"),
		"match above":         glob(x.allowed + "/../*/secret"),
		"match in a link":     glob(in("folder/*")),
		"match the process":   glob(in("self/envir*")),
		"match damaged":       glob(in(strings.Repeat("[", 1<<20))),
		"lines above":         dataset("TextLineDataset", secret, ""),
		"a line without end":  dataset("TextLineDataset", in("sparse"), ""),
		"a bomb of lines":     dataset("TextLineDataset", in("bomb"), "GZIP"),
		"a bomb of records":   dataset("TFRecordDataset", in("bomb"), "GZIP"),
		"a large record":      dataset("TFRecordDataset", in("record"), ""),
		"a large fixed one":   fixed,
		"a damaged checkpoint": graphOf(word("prefix", in("ckpt")), text("names", "w"), text("slices", ""),
			node("out", "RestoreV2", []string{"prefix", "names", "slices"}, "dtypes", []types_go_proto.DataType{float})),
	}
	return all, outside
}

// slowInputs only run in the long form: they fill the memory slowly.
var slowInputs = map[string]bool{"a list of scalars": true, "a stack of scalars": true, "empty strings": true, "a large replacement": true}

// TestClusterRuntimeHostileInputs: inputs of ops that are too large, damaged or outside
// --allow-path are refused. The server holds no memory afterwards.
func TestClusterRuntimeHostileInputs(t *testing.T) {
	long := thorough(t)
	x := newTarget(t)
	all, outside := x.fileAttacks()
	for _, more := range []map[string]*graph_go_proto.GraphDef{sizeAttacks(), textAttacks(), loopAttacks()} {
		maps.Copy(all, more)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slowInputs[name] && !long {
			continue
		}
		c, m := x.dial()
		last := all[name].Node[len(all[name].Node)-1].GetName()
		if last != "write" {
			last += ":0"
		}
		err := run(m, 20*time.Second, all[name], last)
		switch grpcstatus.Code(err) {
		case codes.OK, codes.Internal, codes.Unavailable, codes.Unknown, codes.DeadlineExceeded:
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprint(err); len(text) > 8<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(text))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		x.honest(name)
	}
	// Writing to a link replaces the link.
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("outside: %q, %v", b, err)
	}
	if files, err := filepath.Glob(filepath.Join(outside, "escaped")); err != nil || len(files) > 0 {
		t.Errorf("outside: %v, %v", files, err)
	}
	x.settle("after all attacks", func(s taskstatus.State) bool {
		return len(s.Sessions) == 0 && s.Steps.Running == 0 && s.Memory.Held < 1<<20
	})
}
