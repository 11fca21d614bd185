package columngraph

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func TestParse(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	examples := b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
	raw, err := Parse(b, examples, []feature.ExampleSpec{{Key: "w", DType: tensor.String, VarLen: true}, {Key: "y", DType: tensor.Float64, Shape: []int{2}, Default: []float32{1, 2}},
		{Key: "i", DType: tensor.Uint8, VarLen: true}, {Key: "s", DType: tensor.String, Shape: []int{1}}})
	if err != nil {
		t.Fatal(err)
	}
	n := raw["y"].Dense.Node
	want := graph.Attrs{"num_sparse": int64(2), "sparse_types": []tensor.DType{tensor.Int64, tensor.String}, "Tdense": []tensor.DType{tensor.String, tensor.Float32},
		"dense_shapes": []graph.Shape{graph.ShapeOf(1), graph.ShapeOf(2)}, "ragged_value_types": graph.EmptyList{}, "ragged_split_types": graph.EmptyList{}}
	if diff := cmp.Diff(want, n.Attrs); diff != "" || n.Op != "ParseExampleV2" {
		t.Errorf("%s: attributes differ (-want +got):\n%s", n.Op, diff)
	}
	if got := raw["w"].Sparse; got.Indices != n.Out(1) || got.Values != n.Out(3) || got.DenseShape != n.Out(5) || raw["y"].Dense != n.Out(7) {
		t.Errorf("w is %v, y %v", got, raw["y"])
	}
	checkType(t, "i", raw["i"].Sparse.Values, graph.Type{DType: tensor.Int64, Shape: vector})
	checkType(t, "s", raw["s"].Dense, graph.Type{DType: tensor.String, Shape: graph.BatchOf(1)})
	value := func(i int) *tensor.Tensor { return n.Inputs[i].Node.Attrs["value"].(*tensor.Tensor) }
	if required, given := value(5), value(6); required.Len() != 0 || required.DType != tensor.String || given.Len() != 2 {
		t.Errorf("defaults %v and %v: expected none of strings, and two numbers", required, given)
	}
}

func TestEmitParseRefuses(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	examples := b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
	word := feature.ExampleSpec{Key: "w", DType: tensor.String, VarLen: true}
	for want, c := range map[string]struct {
		from  graph.Output
		specs []feature.ExampleSpec
	}{
		"no features":                        {examples, nil},
		`feature "w" is there twice`:         {examples, []feature.ExampleSpec{word, word}},
		`feature "b": examples have no bool`: {examples, []feature.ExampleSpec{{Key: "b", DType: tensor.Bool, VarLen: true}}},
		`feature "x": a default of 1 number`: {examples, []feature.ExampleSpec{{Key: "x", DType: tensor.Float32, Shape: []int{2}, Default: []float32{1}}}},
		"expected a vector of strings":       {graph.Output{}, []feature.ExampleSpec{word}},
		"expected strings or integers of":    {examples, []feature.ExampleSpec{{Key: "x", DType: tensor.Float32, Optional: true}}},
	} {
		if _, err := Parse(b, c.from, c.specs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
	}
}

// TestEmitParseOptional: an absent feature is "" or -1, which mean no value.
func TestEmitParseOptional(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	examples := b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
	raw, err := Parse(b, examples, []feature.ExampleSpec{{Key: "i", DType: tensor.Int32, Shape: []int{2}, Optional: true}, {Key: "s", DType: tensor.String, Optional: true}})
	if err != nil {
		t.Fatal(err)
	}
	n := raw["s"].Dense.Node
	checkType(t, "i", raw["i"].Dense, graph.Type{DType: tensor.Int64, Shape: graph.BatchOf(2)})
	checkType(t, "s", raw["s"].Dense, graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
	i, w := n.Inputs[5].Node.Attrs["value"].(*tensor.Tensor), n.Inputs[6].Node.Attrs["value"].(*tensor.Tensor)
	if i.Len() != 2 || i.Float(0) != -1 || i.Float(1) != -1 || w.Len() != 1 || len(w.Strings[0]) != 0 {
		t.Errorf("defaults %v and %q, expected -1 twice and nothing", tensor.Values[int64](i), w.Strings)
	}
}

// TestEmitAfterAnError: the builder's first error is the one reported.
func TestEmitAfterAnError(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	failed := errors.New("earlier")
	b.Fail(failed)
	raw, _, err := Placeholders(b, []inputs.Column{{Name: "x", DType: tensor.Float32}, {Name: "w", DType: tensor.String, Ragged: true}})
	if !errors.Is(err, failed) {
		t.Errorf("placeholders: got %v", err)
	}
	if _, err := Parse(b, graph.Output{}, []feature.ExampleSpec{{Key: "x", DType: tensor.Float32, Shape: []int{1}}}); !errors.Is(err, failed) || raw != nil {
		t.Errorf("parsing: got %v", err)
	}
}

func TestEmitPlaceholdersRefuses(t *testing.T) {
	x := inputs.Column{Name: "x", DType: tensor.Float32}
	if _, _, err := Placeholders(graph.NewBuilder(graph.New()), []inputs.Column{x, x}); err == nil || !strings.Contains(err.Error(), `column "x" is there twice`) {
		t.Errorf("got %v", err)
	}
}

func TestNodeNames(t *testing.T) {
	for name, want := range map[string]string{"capital.gain": "capital.gain", "_id": "x_id", "größe": "gr__e", "": "x", "a b/c": "a_b_c", "-": "x-"} {
		if got := nodeName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
