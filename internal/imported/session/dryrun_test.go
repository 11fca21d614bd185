package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// checked loads a graph with one signature, x to y, and returns the error of its dry run.
func checked(t *testing.T, b *graph.Builder, x, y graph.Output, c session.Check) (s *session.Session, failed, err error) {
	t.Helper()
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	c.Failed = func(_ string, err error) { failed = err }
	s, err = session.Load(context.Background(), metaGraph(t, b.Graph, x, y), session.Options{Check: c})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, failed, err
}

func unknown(d tensor.DType, rank int) graph.Type {
	return graph.Type{DType: d, Shape: graph.Shape{Dims: slices.Repeat([]graph.Dim{graph.Unknown}, rank)}}
}

// TestMissingTypes: all types without kernels are named, and the option turns the check off.
func TestMissingTypes(t *testing.T) {
	small := unknown(tensor.Uint8, 2)
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", small)
	y := b.Op("MatMul", "product", small, graph.Attrs{"T": tensor.Uint8}, x, x)
	y = b.Op("BatchMatMulV2", "again", small, graph.Attrs{"T": tensor.Uint8}, y, y)
	y = b.Op("Identity", "y", small, graph.Attrs{"T": tensor.Uint8}, y)
	_, _, err := checked(t, b, x, y, session.Check{})
	if !errors.Is(err, eager.ErrUnsupported) || status.Code(err) != codes.Unimplemented || len(session.Missing(err)) != 2 ||
		!strings.Contains(err.Error(), "MatMul (node product, 1 in all): T = uint8 is not supported: expected float32") {
		t.Errorf("got %v", err)
	}
	if _, _, err = checked(t, b, x, y, session.Check{Off: true}); err != nil {
		t.Errorf("without the check: %v", err)
	}
}

// TestDryRunChangesNothing: after Load a counter has its saved value, and random numbers begin where they would without a dry run.
func TestDryRunChangesNothing(t *testing.T) {
	saved, err := savedmodel.Read(testkit.Shared(t, "golden/tensorflow-serving/saved_model_counter/00000123"), savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	mg, err := saved.MetaGraph(savedmodel.TagServe)
	if err != nil {
		t.Fatal(err)
	}
	delete(mg.Signatures, "reset_counter") // it would undo the others
	m, err := session.Load(t.Context(), mg, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	near(t, "incr", call(t, m, "incr_counter", nil)["output"], 1)

	var first []float32
	for _, off := range []bool{true, false} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", unknown(tensor.Int32, 1))
		y := b.Op("RandomUniform", "y", unknown(tensor.Float32, 1), graph.Attrs{"T": tensor.Int32, "dtype": tensor.Float32, "seed": int64(3), "seed2": int64(4)}, x)
		s, failed, err := checked(t, b, x, y, session.Check{Off: off})
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		shape, err := tensor.FromSlice([]int32{4}, 1)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": shape}, []string{"y:0"})
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, tensor.Values[float32](out[0])...)
	}
	if !slices.Equal(first[:4], first[4:]) {
		t.Errorf("the first numbers are %v without a dry run, %v after one", first[:4], first[4:])
	}
}

// TestHostileDryRuns: a dry run that does not end, needs much memory, writes a file or fails an assertion is bounded, leaves nothing,
// and does not refuse the model.
func TestHostileDryRuns(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		build func(b *graph.Builder, x graph.Output) graph.Output
		want  codes.Code // a request's code
	}{
		"memory": {func(b *graph.Builder, x graph.Output) graph.Output {
			size := b.Const("size", vector(t, int64(25_000_000_000)))
			return b.Op("Fill", "y", unknown(tensor.Float32, 1), graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int64}, size, x)
		}, codes.InvalidArgument},
		"file": {func(b *graph.Builder, x graph.Output) graph.Output {
			prefix, names, slices := b.Const("p", text(t, filepath.Join(dir, "stolen"))), b.Const("n", text(t, "v")), b.Const("s", text(t, ""))
			save := b.Node("SaveV2", "save", nil, graph.Attrs{"dtypes": []tensor.DType{tensor.Float32}}, b.Op("Squeeze", "one", unknown(tensor.String, 0), graph.Attrs{"T": tensor.String}, prefix), names, slices, x)
			y := b.Node("Identity", "y", []graph.Type{unknown(tensor.Float32, 0)}, graph.Attrs{"T": tensor.Float32}, x)
			y.Control = append(y.Control, save)
			return y.Out(0)
		}, codes.OK},
		"assertion": {func(b *graph.Builder, x graph.Output) graph.Output {
			big := b.Op("Greater", "big", unknown(tensor.Bool, 0), graph.Attrs{"T": tensor.Float32}, x, b.Scalar("hundred", tensor.Float32, 100))
			assert := b.Node("Assert", "assert", nil, graph.Attrs{"T": []tensor.DType{tensor.Float32}}, big, x)
			y := b.Node("Identity", "y", []graph.Type{unknown(tensor.Float32, 0)}, graph.Attrs{"T": tensor.Float32}, x)
			y.Control = append(y.Control, assert)
			return y.Out(0)
		}, codes.OK},
	} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", unknown(tensor.Float32, 0))
		y := c.build(b, x)
		s, failed, err := checked(t, b, x, y, session.Check{})
		if err != nil || failed == nil && name != "file" {
			t.Errorf("%s: got %v, and %v of the dry run", name, err, failed)
			continue
		}
		_, err = s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(float32(400))}, []string{"y:0"})
		if status.Code(err) != c.want {
			t.Errorf("%s: got %v, expected %v", name, err, c.want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files were written: %v, %v", files, err)
	}
	began := time.Now()
	s, err := loopModel(t, "k", `ret { key: "j" value: "i" }`)
	if err != nil || s == nil || time.Since(began) > time.Minute {
		t.Errorf("an endless loop: got %v after %v", err, time.Since(began))
	}
}

// TestHugeInputs: a model may state inputs of any size, even in several dimensions or inputs; the dry run allocates none of them.
func TestHugeInputs(t *testing.T) {
	for name, typ := range map[string]graph.Type{
		"bytes":   {DType: tensor.Uint8, Shape: graph.ShapeOf(1 << 42)},
		"floats":  {DType: tensor.Float32, Shape: graph.ShapeOf(1<<20, 1<<20)},
		"strings": {DType: tensor.String, Shape: graph.ShapeOf(1 << 36)},
		"images":  {DType: tensor.Float32, Shape: graph.Shape{Dims: slices.Repeat([]graph.Dim{graph.Unknown}, 6)}}, // 224 in all dimensions but the first: 2 TB
	} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", typ)
		y := b.Op("Identity", "y", typ, graph.Attrs{"T": typ.DType}, x)
		if name == "images" { // to make the model itself refuse smaller ones
			y = b.Op("Reshape", "rows", graph.Type{DType: typ.DType, Shape: graph.ShapeOf(1 << 40)}, graph.Attrs{"T": typ.DType, "Tshape": tensor.Int64}, y, b.Const("all", vector(t, int64(1<<40))))
		}
		_, failed, err := checked(t, b, x, y, session.Check{})
		if err != nil {
			t.Errorf("%s: got %v, expected a model that is loaded", name, err)
		} else if name != "images" && status.Code(failed) != codes.InvalidArgument && status.Code(failed) != codes.ResourceExhausted {
			t.Errorf("%s: the dry run gave %v", name, failed)
		}
	}
}

// TestImagesWithChannelsFirst: programs support them, though kernels of single nodes do not.
func TestImagesWithChannelsFirst(t *testing.T) {
	images := unknown(tensor.Float32, 4)
	for _, size := range []int{1, 2} {
		images.Shape.Dims[1], images.Shape.Dims[2], images.Shape.Dims[3] = graph.Fixed(size), graph.Fixed(5), graph.Fixed(5)
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", images)
		y := b.Op("Conv2D", "y", unknown(tensor.Float32, 4), graph.Attrs{"T": tensor.Float32, "strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME"), "data_format": []byte("NCHW")},
			x, b.Const("filter", tensor.New(tensor.Float32, 3, 3, size, 4)))
		s, failed, err := checked(t, b, x, y, session.Check{})
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 3, size, 5, 5)}, []string{"y:0"})
		if err != nil || !slices.Equal(out[0].Shape, []int{3, 4, 5, 5}) {
			t.Errorf("got %v, %v", out, err)
		}
	}
}

// TestLoadedModelsAnswer: whatever the op and type, a loaded model refuses no request for a missing kernel.
func TestLoadedModelsAnswer(t *testing.T) {
	dev := device.NewHost()
	defer dev.Close()
	loaded, refused := 0, 0
	for _, d := range ops.Defs() {
		in, out := d.Inputs(), d.Outputs()
		if d.State != ops.Pure || len(in) == 0 || len(in) > 2 || len(out) != 1 || slices.ContainsFunc(in, func(a ops.Arg) bool { return a.TypeAttr != "T" || a.Several() || a.Ref }) {
			continue
		}
		for _, typ := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Complex64, tensor.Int8, tensor.Int32, tensor.Int64, tensor.Uint16, tensor.Bool, tensor.String} {
			b := graph.NewBuilder(graph.New())
			x := b.Placeholder("x", unknown(typ, 2))
			y := out[0].Type
			if out[0].TypeAttr == "T" {
				y = typ
			}
			z := b.Op(d.Name, "y", unknown(y, 2), graph.Attrs{"T": typ}, slices.Repeat([]graph.Output{x}, len(in))...)
			s, err := session.Load(t.Context(), metaGraph(t, b.Graph, x, z), session.Options{Device: dev})
			if err != nil {
				refused++
				continue
			}
			loaded++
			for _, rows := range []int{1, 3, 0} {
				if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.New(typ, rows, 3)}, []string{"y:0"}); errors.Is(err, eager.ErrUnsupported) || status.Code(err) == codes.Unimplemented {
					t.Errorf("%s of %v, %d rows: %v", d.Name, typ, rows, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if loaded < 300 || refused < 100 {
		t.Errorf("%d models are loaded, %d refused: expected more", loaded, refused)
	}
}

func vector[T tensor.Element](t *testing.T, v ...T) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func text(t *testing.T, v ...string) *tensor.Tensor {
	t.Helper()
	x := tensor.New(tensor.String, len(v))
	for i, s := range v {
		x.Strings[i] = []byte(s)
	}
	return x
}

// TestSlowSignaturesHideNothing: a signature that does not end is reported as not checked, but models where others miss something are
// refused, even if only a run shows it. This includes a node that perhaps no program supports, if an endless node comes before it.
func TestSlowSignaturesHideNothing(t *testing.T) {
	endless := `node { name: "x" op: "Placeholder" ` + number + ` attr { key: "shape" value { shape {} } } } node ` + constant("k", "5") + loopNode("k", `ret { key: "j" value: "i" }`) + `
		node { name: "y" op: "AddV2" input: "loop" input: "x" ` + numeric + ` }`
	const algorithm = `
		node { name: "shape" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { dim { size: 1 } } } } }
		node { name: "key" op: "Const" attr { key: "dtype" value { type: DT_UINT64 } } attr { key: "value" value { tensor { dtype: DT_UINT64 tensor_shape { dim { size: 1 } } uint64_val: 1 } } } }
		node { name: "counter" op: "Const" attr { key: "dtype" value { type: DT_UINT64 } } attr { key: "value" value { tensor { dtype: DT_UINT64 tensor_shape { dim { size: 2 } } uint64_val: 1 } } } }
		node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
		node { name: "drawn" op: "StatelessRandomUniformV2" input: "shape" input: "key" input: "counter" input: "two" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "Tshape" value { type: DT_INT32 } } }`
	const product = `
		node { name: "rows" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } dim { size: -1 } } } } }
		node { name: "twice" op: "Einsum" input: "rows" attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 1 } } attr { key: "equation" value { s: "ab->aab" } } }
		node { name: "steps" op: "Cast" input: "loop" attr { key: "SrcT" value { type: DT_INT64 } } attr { key: "DstT" value { type: DT_FLOAT } } }
		node { name: "sum" op: "AddV2" input: "twice" input: "steps" attr { key: "T" value { type: DT_FLOAT } } }`
	for name, c := range map[string]struct {
		text       string
		signatures map[string][2]string
		missing    string // "" for nothing
		unchecked  []string
	}{
		"others that answer":      {endless + algorithm, map[string][2]string{"a": {"x:0", "y:0"}, "b": {"x:0", "x:0"}}, "", []string{"a"}},
		"another that shows it":   {endless + algorithm, map[string][2]string{"a": {"x:0", "y:0"}, "b": {"shape:0", "drawn:0"}, "c": {"x:0", "y:0"}}, `signature "b"`, []string{"a", "c"}},
		"the same after the loop": {endless + product, map[string][2]string{"a": {"rows:0", "sum:0"}}, `signature "a"`, nil},
		"all reasons":             {endless + algorithm + product, map[string][2]string{"a": {"rows:0", "sum:0"}, "b": {"x:0", "y:0"}, "c": {"shape:0", "drawn:0"}}, `signature "c"`, []string{"b"}},
	} {
		var wrong error
		for limit := 50 * time.Millisecond; limit < 20*time.Second; limit *= 4 { // a machine that stalls takes the time of the other signatures
			var unchecked []string
			_, err := modelOfText(t.Context(), t, c.text, c.signatures, session.Check{Time: limit, Failed: func(key string, err error) {
				if errors.Is(err, session.ErrUnchecked) {
					unchecked = append(unchecked, key)
				}
			}})
			wrong = nil
			if (err == nil) != (c.missing == "") || err != nil && (!errors.Is(err, eager.ErrUnsupported) || !strings.Contains(err.Error(), c.missing)) {
				wrong = fmt.Errorf("got %v, expected that %q is missing", err, c.missing)
			} else if !slices.Equal(unchecked, c.unchecked) {
				wrong = fmt.Errorf("%q were not checked, expected %q", unchecked, c.unchecked)
			}
			if wrong == nil {
				break
			}
		}
		if wrong != nil {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

// TestKnownFeeds: known valid values are tried first.
func TestKnownFeeds(t *testing.T) {
	for _, known := range []bool{false, true} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", unknown(tensor.Float32, 1))
		y := b.Op("Reshape", "y", unknown(tensor.Float32, 1), graph.Attrs{"T": tensor.Float32, "Tshape": tensor.Int32}, x, b.Const("seven", vector[int32](t, 7)))
		c := session.Check{}
		if known {
			c.Feeds = func(sigs map[string]*pb.SignatureDef) map[string][]map[string]*tensor.Tensor {
				out := map[string][]map[string]*tensor.Tensor{}
				for key := range sigs {
					out[key] = []map[string]*tensor.Tensor{{"x:0": tensor.New(tensor.Float32, 7)}}
				}
				return out
			}
		}
		_, failed, err := checked(t, b, x, y, c)
		if err != nil || (failed == nil) != known {
			t.Errorf("known %v: got %v, %v", known, failed, err)
		}
	}
}
