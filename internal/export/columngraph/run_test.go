package columngraph

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
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/testkit/rawrows"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// TestEmittedRowsAreTransformed: for random rows, the operations give the same results as Apply.
func TestEmittedRowsAreTransformed(t *testing.T) {
	columns := manyColumns()
	columns.Linear = append(columns.Linear, &feature.VocabularyFile{Key: "word", File: filepath.Join("..", "..", "..", "inputs", "feature", "testdata", "vocabulary.txt"), OOVBuckets: 3},
		&feature.Crossed{Of: []feature.Column{feature.Key("ids"), feature.Key("word"), &feature.Vocabulary{Key: "words", Values: []string{"a", "b"}}}, Size: 1 << 20})
	columns.Dense = append(columns.Dense, &bell{of: columns.Dense[0].(feature.Dense)})
	plan, err := feature.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := Placeholders(b, []inputs.Column{{Name: "word", DType: tensor.String}, {Name: "ids", DType: tensor.Int32}, {Name: "x", DType: tensor.Float64, Shape: []int{2}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]tensor.DType{"words": tensor.String, "weights": tensor.Float32} {
		s := &SparseTensor{Indices: b.Placeholder(name+"/indices", graph.Type{DType: tensor.Int64, Shape: grid}),
			Values: b.Placeholder(name+"/values", graph.Type{DType: d, Shape: vector}), DenseShape: b.Placeholder(name+"/shape", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)})}
		raw[name] = Raw{Sparse: s}
		feeds[name+"/indices"], feeds[name+"/values"], feeds[name+"/shape"] = s.Indices, s.Values, s.DenseShape
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	r := newGraphRun(t, b.Graph, e)
	rapid.Check(t, func(t *rapid.T) {
		rec := rawrows.Draw(t)
		fed := map[graph.Output]*tensor.Tensor{}
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

// manyColumns returns a column of every type, over the features of rawrows.Draw.
func manyColumns() feature.Columns {
	words := &feature.HashBucket{Key: "words", Size: 7}
	voc := &feature.Vocabulary{Key: "words", Values: []string{"a", "b"}}
	x := &feature.Numeric{Key: "x", Shape: []int{2}, Default: []float32{9}}
	ages := &feature.Bucketized{Of: x, Boundaries: []float64{-1, 0, 1}}
	ids := &feature.Identity{Key: "ids", Size: 5}
	return feature.Columns{
		Linear: []feature.Column{words, ages, ids, &feature.Crossed{Of: []feature.Column{ages, feature.Key("word"), feature.Key("words")}, Size: 100}, &feature.Crossed{Of: []feature.Column{ids, feature.Key("word")}, Size: 50},
			&feature.Weighted{Of: voc, WeightKey: "weights"}},
		Dense: []feature.Column{x, ages, &feature.Indicator{Of: voc}, &feature.Indicator{Of: &feature.Weighted{Of: words, WeightKey: "weights"}}, &feature.Embedding{Of: &feature.Weighted{Of: voc, WeightKey: "weights"}, Dimension: 2}},
		Sequence: []feature.Column{&feature.Embedding{Of: &feature.Sequence{Of: voc}, Dimension: 3}, &feature.Indicator{Of: &feature.Sequence{Of: &feature.Identity{Key: "ids", Size: 5}}},
			&feature.SequenceNumeric{Key: "weights", Shape: []int{2}}},
	}
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

// run computes all nodes except the initialisation.
func (r *graphRun) run(fed map[graph.Output]*tensor.Tensor) (map[*graph.Node][]eager.Value, error) {
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

// rawTensors returns the features of rawrows.Draw as placeholders take them; 9 is the default of x.
func rawTensors(rec arrow.Record) map[string]*tensor.Tensor {
	rows := int(rec.NumRows())
	word, ids, x := tensor.New(tensor.String, rows), tensor.New(tensor.Int32, rows), tensor.New(tensor.Float64, rows, 2)
	numbers := rec.Column(4).(*array.FixedSizeList).ListValues().(*array.Float64)
	for i := range rows {
		word.Strings[i] = []byte(rec.Column(2).(*array.String).Value(i))
		tensor.Values[int32](ids)[i] = rec.Column(3).(*array.Int32).Value(i)
		for j := 2 * i; j < 2*i+2; j++ {
			tensor.Values[float64](x)[j] = 9
			if numbers.IsValid(j) {
				tensor.Values[float64](x)[j] = numbers.Value(j)
			}
		}
	}
	out := map[string]*tensor.Tensor{"word": word, "ids": ids, "x": x}
	words, weights := rec.Column(0).(*array.List), rec.Column(1).(*array.List)
	texts := tensor.New(tensor.String, words.ListValues().Len())
	for i := range texts.Strings {
		texts.Strings[i] = words.ListValues().(*array.Binary).Value(i)
	}
	heavy := tensor.New(tensor.Float32, weights.ListValues().Len())
	copy(tensor.Values[float32](heavy), weights.ListValues().(*array.Float32).Float32Values())
	for name, values := range map[string]*tensor.Tensor{"words": texts, "weights": heavy} {
		out[name+"/values"] = values
		out[name+"/indices"], out[name+"/shape"] = indicesOf(words.Offsets()[:rows+1])
	}
	return out
}

// indicesOf returns the indices and the shape of a sparse tensor with those rows.
func indicesOf(offsets []int32) (indices, shape *tensor.Tensor) {
	indices, shape = tensor.New(tensor.Int64, int(offsets[len(offsets)-1]), 2), tensor.New(tensor.Int64, 2)
	size := tensor.Values[int64](shape)
	size[0] = int64(len(offsets) - 1)
	for row := range len(offsets) - 1 {
		for i := offsets[row]; i < offsets[row+1]; i++ {
			at := tensor.Values[int64](indices)[2*i:]
			at[0], at[1] = int64(row), int64(i-offsets[row])
			size[1] = max(size[1], at[1]+1)
		}
	}
	return indices, shape
}

// compareRun compares the results of Apply and of the graph, bit for bit.
func compareRun(t *rapid.T, rec arrow.Record, e *Emission, got map[*graph.Node][]eager.Value) {
	s, err := inputs.SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := inputs.Tensors(rec, s)
	if err != nil {
		t.Fatal(err)
	}
	value := func(o graph.Output) *tensor.Tensor { return got[o.Node][o.Index].T }
	for _, want := range tensors {
		to := e.Outputs[want.Name]
		if want.Offsets == nil {
			equalTensor(t, want.Name, value(to.Dense), want.Tensor)
			continue
		}
		equalTensor(t, want.Name, value(to.Values), want.Tensor)
		if diff := cmp.Diff(wide(want.Offsets), tensor.Values[int64](value(to.Offsets))); diff != "" {
			t.Errorf("%s: offsets differ (-want +got):\n%s", want.Name, diff)
		}
	}
}

func equalTensor(t *rapid.T, name string, got, want *tensor.Tensor) {
	if got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) || !bytes.Equal(got.Bytes, want.Bytes) {
		t.Errorf("%s: got %v%v %v, want %v%v %v", name, got.DType, got.Shape, got.Bytes, want.DType, want.Shape, want.Bytes)
	}
}

func wide(x []int32) []int64 {
	out := make([]int64, len(x))
	for i, v := range x {
		out[i] = int64(v)
	}
	return out
}

// bell is a user's Formula.
type bell struct{ of feature.Dense }

func (c *bell) Name() string        { return "bell" }
func (c *bell) String() string      { return fmt.Sprintf("bell(%v)", c.of) }
func (c *bell) Width() int          { return c.of.Width() }
func (c *bell) Of() []feature.Dense { return []feature.Dense{c.of} }
func (c *bell) Formula(of []expr.Expr) expr.Expr {
	x := of[0].Times(0.7)
	return expr.WhenLess(x, expr.Number(0.3), x.Square().Neg().Exp(), x.Plus(2).Sqrt().Div(x.Abs().Plus(0.1)))
}
