package onnxgraph

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// holder is where a graph has a constant.
type holder struct{ constant, variable graph.Output }

// holderKey tells a constant of a graph from others.
type holderKey struct {
	b *builder
	t *tensor.Tensor
}

// constants returns where the graph has the value's constant.
func (b *builder) constants(v *value) *holder {
	key := holderKey{b, v.t}
	h := b.t.holders[key]
	if h == nil {
		h = &holder{}
		b.t.holders[key] = h
	}
	return h
}

// variable makes a variable of a tensor, and reads it.
func (t *translation) variable(b *builder, v *tensor.Tensor) graph.Output {
	name := fmt.Sprintf("weights_%d", len(t.values))
	t.values[name] = v
	typ := graph.TypeOf(v.DType, v.Shape...)
	return b.g.Read(b.g.Variable(name, typ), typ)
}
