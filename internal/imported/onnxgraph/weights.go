package onnxgraph

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// holder has a constant of a graph, in the forms that have been made.
type holder struct{ constant, variable graph.Output }

// holderKey identifies a constant of a graph.
type holderKey struct {
	b *builder
	t *tensor.Tensor
}

// constants returns the holder of the value's constant.
func (b *builder) constants(v *value) *holder {
	key := holderKey{b, v.t}
	h := b.t.holders[key]
	if h == nil {
		h = &holder{}
		b.t.holders[key] = h
	}
	return h
}

// variable makes a variable from a tensor, and reads it.
func (t *translation) variable(b *builder, v *tensor.Tensor) graph.Output {
	name := fmt.Sprintf("weights_%d", len(t.values))
	t.values[name] = v
	typ := graph.TypeOf(v.DType, v.Shape...)
	return b.g.Read(b.g.Variable(name, typ), typ)
}
