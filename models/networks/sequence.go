package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// sequence says how a network over steps reads its feature.
type sequence struct {
	vocabulary, padding, width int
	init                       models.Initializer // of kernels; nil: Glorot uniform
}

// newSequence reads vocabulary (256), padding (-1: the id of absent positions) and width (64).
func newSequence(p *Params) sequence {
	return sequence{vocabulary: p.Int("vocabulary", 256, 1), padding: p.Int("padding", -1, -1), width: p.Int("width", 64, 1)}
}

// of returns the only feature as [batch, length, width]: embeddings of integer ids [batch, length] below the vocabulary, or
// numbers [batch, length, n] times a matrix. If ids may be padding, mask, bool [batch, length], is true where they are not; else nil.
func (s sequence) of(c models.Context, f models.Features) (x, mask *G.Node) {
	if c.Core().Failed() {
		return nil, nil
	}
	if f.Len() != 1 || f.All()[0].Dense == nil {
		c.Core().Failf("the network takes one sequence: the input has %d features", f.Len())
		return nil, nil
	}
	in := f.All()[0].Dense
	if len(in.Shape()) == 3 {
		return layers.Dense(c, numeric(c, f.All()[0]), s.width, layers.Weights{Name: "projection", KernelInit: s.init}), nil
	}
	ids := tokens(c, in)
	if s.padding >= 0 {
		mask = ops.NotEqual(c, ids, ops.Scalar(c, tensor.Int32, float64(s.padding)))
	}
	return layers.Embedding(c, ids, s.vocabulary, s.width, layers.Weights{KernelInit: s.init}), mask
}

// tokens returns ids [batch, length] as int32.
func tokens(c models.Context, ids *G.Node) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	switch d := models.GraphType(ids.Dtype()); {
	case len(ids.Shape()) != 2, d.Float(), d == tensor.String, d == tensor.Bool:
		c.Core().Failf("the feature is %v %v: expected integer ids [batch, length]", ids.Dtype(), ids.Shape())
		return nil
	}
	return ops.Cast(c, ids, tensor.Int32)
}
