package columngraph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Parse adds a ParseExampleV2 that parses a vector of serialized tf.train.Examples, string [B],
// according to specs (Plan.ExampleSpecs). It returns the features by key: VarLen features are sparse, the others
// dense with shape [B] plus their own. Integers are int64, numbers float32.
func Parse(b *graph.Builder, serialized graph.Output, specs []feature.ExampleSpec) (map[string]Raw, error) {
	if err := checkSpecs(specs); err != nil {
		return nil, fmt.Errorf("parsing of examples: %w", err)
	}
	if b.Err() == nil && (!serialized.Valid() || serialized.DType() != tensor.String) {
		return nil, fmt.Errorf("parsing of examples: expected a vector of strings, got %v", serialized)
	}
	specs = slices.SortedFunc(slices.Values(specs), func(a, b feature.ExampleSpec) int { return strings.Compare(a.Key, b.Key) })
	e := &emitter{b: b, scope: "parse_example/"}
	p := newParsing(e, specs)
	sparse, dense := len(p.sparse), len(p.dense)
	in := append([]graph.Output{serialized, e.texts("names", nil, 0), e.texts("sparse_keys", p.keys(p.sparse), sparse),
		e.texts("dense_keys", p.keys(p.dense), dense), e.texts("ragged_keys", nil, 0)}, p.defaults...)
	n := b.Node("ParseExampleV2", "parse_example/ParseExampleV2", p.outputs(), p.attrs(), in...)
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("parsing of examples: %w", err)
	}
	out := map[string]Raw{}
	for i, s := range p.sparse {
		out[s.Key] = Raw{Sparse: &SparseTensor{Indices: n.Out(i), Values: n.Out(sparse + i), DenseShape: n.Out(2*sparse + i)}}
	}
	for i, s := range p.dense {
		out[s.Key] = Raw{Dense: n.Out(3*sparse + i)}
	}
	return out, nil
}

func checkSpecs(specs []feature.ExampleSpec) error {
	if len(specs) == 0 {
		return fmt.Errorf("no features: give at least one")
	}
	seen := map[string]bool{}
	for _, s := range specs {
		switch {
		case seen[s.Key]:
			return fmt.Errorf("feature %q is there twice", s.Key)
		case s.Type() == tensor.Invalid:
			return fmt.Errorf("feature %q: examples have no %s: expected string, float32 or an integer type", s.Key, s.DType)
		case s.Missing != nil && (s.VarLen || s.Missing.DType != s.Type() || s.Missing.Len() != tensor.NumElements(s.Shape)):
			return fmt.Errorf("feature %q: a default of %s%v for %s of shape %v", s.Key, s.Missing.DType, s.Missing.Shape, s.DType, s.Shape)
		case !s.VarLen && s.Default != nil && (s.Type() != tensor.Float32 || len(s.Default) != tensor.NumElements(s.Shape)):
			return fmt.Errorf("feature %q: a default of %d numbers for %s of shape %v", s.Key, len(s.Default), s.DType, s.Shape)
		case s.Optional && (s.VarLen || s.Type() == tensor.Float32):
			return fmt.Errorf("feature %q: optional for %v: expected strings or integers of fixed length", s.Key, s)
		}
		seen[s.Key] = true
	}
	return nil
}

// parsing is a ParseExampleV2 while it is being made.
type parsing struct {
	sparse, dense []feature.ExampleSpec
	defaults      []graph.Output // of the dense features; [0] if a value is required
}

func newParsing(e *emitter, specs []feature.ExampleSpec) parsing {
	var p parsing
	for _, s := range specs {
		if s.VarLen {
			p.sparse = append(p.sparse, s)
			continue
		}
		p.dense = append(p.dense, s)
		name := scope(s.Key) + "/default"
		switch {
		case s.Missing != nil:
			p.defaults = append(p.defaults, e.constant(name, s.Missing, nil))
		case s.Default != nil:
			p.defaults = append(p.defaults, e.floats(name, s.Default, s.Shape...))
		case s.Optional:
			p.defaults = append(p.defaults, e.constant(name, nothing(s.Type(), s.Shape), nil))
		default:
			p.defaults = append(p.defaults, e.constant(name, tensor.New(s.Type(), 0), nil))
		}
	}
	return p
}

// nothing returns a tensor of "" or -1.
func nothing(d tensor.DType, shape []int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range tensor.Values[int64](t) {
		tensor.Values[int64](t)[i] = -1
	}
	return t
}

func (p parsing) keys(specs []feature.ExampleSpec) [][]byte {
	out := make([][]byte, len(specs))
	for i, s := range specs {
		out[i] = []byte(s.Key)
	}
	return out
}

func (p parsing) attrs() graph.Attrs {
	a := graph.Attrs{"num_sparse": int64(len(p.sparse)), "sparse_types": graph.EmptyList{}, "Tdense": graph.EmptyList{}, "dense_shapes": graph.EmptyList{},
		"ragged_value_types": graph.EmptyList{}, "ragged_split_types": graph.EmptyList{}}
	var sparse, dense []tensor.DType
	var shapes []graph.Shape
	for _, s := range p.sparse {
		sparse = append(sparse, s.Type())
	}
	for _, s := range p.dense {
		dense, shapes = append(dense, s.Type()), append(shapes, graph.ShapeOf(s.Shape...))
	}
	if len(sparse) > 0 {
		a["sparse_types"] = sparse
	}
	if len(dense) > 0 {
		a["Tdense"], a["dense_shapes"] = dense, shapes
	}
	return a
}

// outputs returns indices, values and shapes of the sparse features, then the dense features.
func (p parsing) outputs() []graph.Type {
	var indices, values, shapes, dense []graph.Type
	for _, s := range p.sparse {
		indices = append(indices, graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}})
		values = append(values, graph.Type{DType: s.Type(), Shape: vector})
		shapes = append(shapes, graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)})
	}
	for _, s := range p.dense {
		dense = append(dense, graph.Type{DType: s.Type(), Shape: graph.BatchOf(s.Shape...)})
	}
	return slices.Concat(indices, values, shapes, dense)
}
