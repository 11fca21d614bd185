package feature

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// TestEmittedRowsAreTransformed: the operations make of random rows what Apply makes.
func TestEmittedRowsAreTransformed(t *testing.T) {
	columns := manyColumns()
	columns.Linear = append(columns.Linear, &VocabularyFile{Key: "word", File: filepath.Join("testdata", "vocabulary.txt"), OOVBuckets: 3},
		&Crossed{Of: []Column{Key("ids"), Key("word"), &Vocabulary{Key: "words", Values: []string{"a", "b"}}}, Size: 1 << 20})
	plan, err := New(columns)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := EmitPlaceholders(b, []inputs.Column{{Name: "word", DType: inputs.String}, {Name: "ids", DType: inputs.Int32}, {Name: "x", DType: inputs.Float64, Shape: []int{2}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]graph.DType{"words": graph.String, "weights": graph.Float32} {
		s := &SparseTensor{Indices: b.Placeholder(name+"/indices", graph.Type{DType: graph.Int64, Shape: grid}),
			Values: b.Placeholder(name+"/values", graph.Type{DType: d, Shape: vector}), DenseShape: b.Placeholder(name+"/shape", graph.Type{DType: graph.Int64, Shape: graph.ShapeOf(2)})}
		raw[name] = Raw{Sparse: s}
		feeds[name+"/indices"], feeds[name+"/values"], feeds[name+"/shape"] = s.Indices, s.Values, s.DenseShape
	}
	e, err := plan.Emit(b, raw)
	if err != nil {
		t.Fatal(err)
	}
	r := newGraphRun(t, b.Graph, e)
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		fed := map[graph.Output]*graph.Tensor{}
		for name, x := range rawTensors(rec) {
			fed[feeds[name]] = x
		}
		got, err := r.run(fed)
		if err != nil {
			t.Fatal(err)
		}
		out, err := plan.Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		compareRun(t, out, e, got)
	})
}

// graphRun runs a graph node by node.
type graphRun struct {
	g    *graph.Graph
	init map[*graph.Node]bool
	env  *eager.Env
}

// newGraphRun runs the initialisation.
func newGraphRun(t *testing.T, g *graph.Graph, e *Emission) *graphRun {
	t.Helper()
	files := map[string][]byte{}
	for _, a := range e.Assets {
		files[a.Name] = a.Content
	}
	r := &graphRun{g: g, init: map[*graph.Node]bool{}, env: &eager.Env{Resources: eager.NewResources(), Open: func(path string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files[path])), nil
	}}}
	known := map[*graph.Node][]eager.Value{}
	for _, n := range e.Init {
		r.init[n] = true
		if err := r.need(n, known); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *graphRun) need(n *graph.Node, known map[*graph.Node][]eager.Value) error {
	if _, ok := known[n]; ok {
		return nil
	}
	var in []eager.Value
	for _, c := range n.Control {
		if err := r.need(c, known); err != nil {
			return err
		}
	}
	for _, i := range n.Inputs {
		if err := r.need(i.Node, known); err != nil {
			return err
		}
		in = append(in, known[i.Node][i.Index])
	}
	out, err := eager.Run(context.Background(), n, in, r.env)
	known[n] = out
	return err
}

// run computes all nodes but the initialisation.
func (r *graphRun) run(fed map[graph.Output]*graph.Tensor) (map[*graph.Node][]eager.Value, error) {
	known := map[*graph.Node][]eager.Value{}
	for o, x := range fed {
		known[o.Node] = []eager.Value{{T: x}}
	}
	for _, n := range r.g.Nodes() {
		if r.init[n] {
			continue
		}
		if err := r.need(n, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// rawTensors are the features of drawRecord as placeholders take them; 9 is the default of x.
func rawTensors(rec arrow.Record) map[string]*graph.Tensor {
	rows := int(rec.NumRows())
	word, ids, x := graph.NewTensor(graph.String, rows), graph.NewTensor(graph.Int32, rows), graph.NewTensor(graph.Float64, rows, 2)
	numbers := rec.Column(4).(*array.FixedSizeList).ListValues().(*array.Float64)
	for i := range rows {
		word.Strings[i] = []byte(rec.Column(2).(*array.String).Value(i))
		graph.Of[int32](ids)[i] = rec.Column(3).(*array.Int32).Value(i)
		for j := 2 * i; j < 2*i+2; j++ {
			graph.Of[float64](x)[j] = 9
			if numbers.IsValid(j) {
				graph.Of[float64](x)[j] = numbers.Value(j)
			}
		}
	}
	out := map[string]*graph.Tensor{"word": word, "ids": ids, "x": x}
	words, weights := rec.Column(0).(*array.List), rec.Column(1).(*array.List)
	texts := graph.NewTensor(graph.String, words.ListValues().Len())
	for i := range texts.Strings {
		texts.Strings[i] = words.ListValues().(*array.Binary).Value(i)
	}
	heavy := graph.NewTensor(graph.Float32, weights.ListValues().Len())
	copy(graph.Of[float32](heavy), weights.ListValues().(*array.Float32).Float32Values())
	for name, values := range map[string]*graph.Tensor{"words": texts, "weights": heavy} {
		out[name+"/values"] = values
		out[name+"/indices"], out[name+"/shape"] = indicesOf(words.Offsets()[:rows+1])
	}
	return out
}

// indicesOf are the indices and the shape of a sparse tensor with those rows.
func indicesOf(offsets []int32) (indices, shape *graph.Tensor) {
	indices, shape = graph.NewTensor(graph.Int64, int(offsets[len(offsets)-1]), 2), graph.NewTensor(graph.Int64, 2)
	size := graph.Of[int64](shape)
	size[0] = int64(len(offsets) - 1)
	for row := range len(offsets) - 1 {
		for i := offsets[row]; i < offsets[row+1]; i++ {
			at := graph.Of[int64](indices)[2*i:]
			at[0], at[1] = int64(row), int64(i-offsets[row])
			size[1] = max(size[1], at[1]+1)
		}
	}
	return indices, shape
}

// compareRun compares what Apply made with what the graph made, bit for bit.
func compareRun(t *rapid.T, rec arrow.Record, e *Emission, got map[*graph.Node][]eager.Value) {
	s, err := inputs.SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := inputs.Tensors(rec, s)
	if err != nil {
		t.Fatal(err)
	}
	value := func(o graph.Output) *graph.Tensor { return got[o.Node][o.Index].T }
	for _, want := range tensors {
		to := e.Outputs[want.Name]
		if want.Offsets == nil {
			equalTensor(t, want.Name, value(to.Dense), want.Tensor)
			continue
		}
		equalTensor(t, want.Name, value(to.Values), want.Tensor)
		if diff := cmp.Diff(convert[int64](want.Offsets), graph.Of[int64](value(to.Offsets))); diff != "" {
			t.Errorf("%s: offsets differ (-want +got):\n%s", want.Name, diff)
		}
	}
}

func equalTensor(t *rapid.T, name string, got, want *graph.Tensor) {
	if got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) || !bytes.Equal(got.Bytes, want.Bytes) {
		t.Errorf("%s: got %v%v %v, want %v%v %v", name, got.DType, got.Shape, got.Bytes, want.DType, want.Shape, want.Bytes)
	}
}
