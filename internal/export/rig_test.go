package export_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// toy is a model of two columns, x float32 [2] and ids, ragged:
//
//	sum  = x·w + table's rows of ids, [B, 2]; global_step counts
//	best = argmax sum, int64 [B]
type toy struct {
	b                    *graph.Builder
	x, ids, offsets      graph.Output
	sum, best, first, pr graph.Output
	values               map[string]*tensor.Tensor
}

func floats(shape []int, v ...float32) *tensor.Tensor {
	t, err := tensor.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func ints(shape []int, v ...int64) *tensor.Tensor {
	t, err := tensor.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func words(v ...string) *tensor.Tensor {
	t := tensor.New(tensor.String, len(v))
	for i, s := range v {
		t.Strings[i] = []byte(s)
	}
	return t
}

func typ(d tensor.DType, s graph.Shape) graph.Type { return graph.Type{DType: d, Shape: s} }

func newToy() *toy {
	m := &toy{b: graph.NewBuilder(graph.New()), values: map[string]*tensor.Tensor{
		"dense/w": floats([]int{2, 2}, 1, 0, 0, 1), "table": floats([]int{3, 2}, 10, 0, 0, 20, 30, 30), "global_step": ints(nil, 7)}}
	b := m.b
	flat := graph.Shape{Dims: []graph.Dim{{PerBatch: 4}}}
	rows := graph.BatchOf(2)
	m.x = b.Placeholder("features/x", typ(tensor.Float32, rows))
	m.ids = b.Placeholder("features/ids", typ(tensor.Int64, flat))
	m.offsets = b.Placeholder("features/ids/offsets", typ(tensor.Int64, graph.Shape{Dims: []graph.Dim{{PerBatch: 1, Const: 1}}}))
	read := func(name string, d tensor.DType, shape ...int) graph.Output {
		t := typ(d, graph.ShapeOf(shape...))
		return b.Read(b.Variable(name, t), t)
	}
	step := read("global_step", tensor.Int64)
	w, table := read("dense/w", tensor.Float32, 2, 2), read("table", tensor.Float32, 3, 2)
	linear := b.Op("MatMul", "linear", typ(tensor.Float32, rows), graph.Attrs{"T": tensor.Float32, "transpose_a": false, "transpose_b": false}, m.x, w)
	m.sum = b.Op("AddV2", "sum", typ(tensor.Float32, rows), graph.Attrs{"T": tensor.Float32}, linear, m.lookup(table, rows))
	axis := b.Scalar("axis", tensor.Int32, 1)
	m.best = b.Op("ArgMax", "best", typ(tensor.Int64, graph.BatchOf()), graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "output_type": tensor.Int64}, m.sum, axis)
	m.pr = b.Op("Softmax", "probabilities", typ(tensor.Float32, rows), graph.Attrs{"T": tensor.Float32}, m.sum)
	m.first = b.Op("Mean", "mean", typ(tensor.Float32, graph.BatchOf()), graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "keep_dims": false}, m.sum, axis)
	_ = step
	return m
}

// lookup sums the rows of each example's ids, like models of this project.
func (m *toy) lookup(table graph.Output, rows graph.Shape) graph.Output {
	b := m.b
	row := rowNumbers(b, m.ids, m.offsets)
	gathered := padded(b, "gathered", table, m.ids)
	size := b.Op("Shape", "size", typ(tensor.Int32, graph.ShapeOf(2)), graph.Attrs{"T": tensor.Float32, "out_type": tensor.Int32}, m.x)
	one := func(name string, v int32) graph.Output {
		t, _ := tensor.FromSlice([]int32{v}, 1)
		return b.Const(name, t)
	}
	n := b.Op("StridedSlice", "rows", typ(tensor.Int32, graph.Shape{}), graph.Attrs{"T": tensor.Int32, "Index": tensor.Int32, "begin_mask": int64(0),
		"end_mask": int64(0), "ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": int64(1)}, size, one("rows/begin", 0), one("rows/end", 1), one("rows/by", 1))
	return b.Op("UnsortedSegmentSum", "summed", typ(tensor.Float32, rows), graph.Attrs{"T": tensor.Float32, "Tindices": tensor.Int32, "Tnumsegments": tensor.Int32}, gathered, row, n)
}

func (m *toy) feeds() []export.Feed {
	return []export.Feed{
		{Column: inputs.Column{Name: "x", DType: tensor.Float32, Shape: []int{2}}, Values: m.x},
		{Column: inputs.Column{Name: "the ids", DType: tensor.Int64, Ragged: true}, Values: m.ids, Offsets: m.offsets},
	}
}

func (m *toy) graph(in export.InputForm, s ...export.Signature) export.Graph {
	return export.Graph{Mode: models.Predict, IR: m.b.Graph, Input: in, Feeds: m.feeds(), Signatures: s}
}

func (m *toy) model(graphs ...export.Graph) export.Model {
	return export.Model{Graphs: graphs, Variables: export.Variables{Value: m.value}}
}

func (m *toy) value(name string) (*tensor.Tensor, error) {
	if v := m.values[name]; v != nil {
		return v, nil
	}
	return nil, io.ErrUnexpectedEOF
}

// predicting returns the signature with all outputs.
func (m *toy) predicting(name string) export.Signature {
	return export.Signature{Name: name, Kind: export.Predict, Outputs: []export.Named{
		{Name: "sum", Output: m.sum}, {Name: "best", Output: m.best},
		{Name: "word", Output: m.best, Text: &export.Text{Words: []string{"left"}}},
		{Name: "digit", Output: m.best, Text: &export.Text{}}}}
}

var withoutLog = export.Options{Version: 1700000000, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}

func write(t testing.TB, m export.Model) string {
	t.Helper()
	dir, err := export.SavedModel(atomicfile.OS{}, t.TempDir(), m, withoutLog)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t testing.TB, dir string, tags ...string) *savedmodel.MetaGraph {
	t.Helper()
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.MetaGraph(tags...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// served runs a signature of a model with feeds by key.
func served(t *testing.T, dir, signature string, feeds map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	t.Helper()
	s, err := session.Load(t.Context(), read(t, dir, "serve"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sig := s.Signatures()[signature]
	if got, want := slices.Sorted(maps.Keys(sig.GetInputs())), slices.Sorted(maps.Keys(feeds)); !slices.Equal(got, want) {
		t.Fatalf("signature %q has inputs %q: want %q", signature, got, want)
	}
	in := map[string]*tensor.Tensor{}
	for key, x := range feeds {
		in[sig.GetInputs()[key].GetName()] = x
	}
	keys := slices.Sorted(maps.Keys(sig.GetOutputs()))
	fetches := make([]string, len(keys))
	for i, k := range keys {
		fetches[i] = sig.GetOutputs()[k].GetName()
	}
	got, err := s.Run(context.Background(), in, fetches)
	if err != nil {
		return nil, err
	}
	out := map[string]*tensor.Tensor{}
	for i, k := range keys {
		out[k] = got[i]
	}
	return out, nil
}

// example serializes a tf.train.Example; values are []float32, []int64 or []string.
func example(t *testing.T, features map[string]any) string {
	t.Helper()
	m := map[string]*example_protos_go_proto.Feature{}
	for k, v := range features {
		f := &example_protos_go_proto.Feature{}
		switch v := v.(type) {
		case []float32:
			f.Kind = &example_protos_go_proto.Feature_FloatList{FloatList: &example_protos_go_proto.FloatList{Value: v}}
		case []int64:
			f.Kind = &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: v}}
		case []string:
			list := &example_protos_go_proto.BytesList{}
			for _, s := range v {
				list.Value = append(list.Value, []byte(s))
			}
			f.Kind = &example_protos_go_proto.Feature_BytesList{BytesList: list}
		}
		m[k] = f
	}
	b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: m}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func joined(t *tensor.Tensor) string {
	if t == nil {
		return "<nil>"
	}
	parts := make([]string, len(t.Strings))
	for i, s := range t.Strings {
		parts[i] = string(s)
	}
	return strings.Join(parts, " ")
}
