package canned

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// rnn is a body of recurrent layers.
type rnn struct {
	sequence, context []feature.Input
	cells             []layers.Cell
	optimizer         choice

	sequences bool   // a prediction for each step
	weights   string // with sequences: the weight column, and
	labels    int    // the number of values of a step's label
}

// logits builds the layers along the steps, and a dense layer on the last step's output
// or, for sequences, on every step's output: [batch, T, units].
func (r *rnn) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	s := columns.SequenceInput(mc, f, r.sequence, columns.SequenceScope)
	if mc.Failed() {
		return nil
	}
	mc.Summarize(models.HistogramSummary, "rnn_model/sequence_input_layer/sequence_length", ops.Cast(mc, s.Lengths, mc.DType()))
	mask := columns.SequenceMask(mc, f, r.sequence)
	if len(r.context) > 0 {
		s = s.WithContext(mc, columns.InputLayer(mc, f, r.context, columns.ContextScope))
	}
	x := s.Steps
	for i, name := range r.scopes() {
		x = layers.Recurrent(mc, x, mask, layers.Rnn{Name: name, Cell: r.cells[i]})
	}
	if mc.Failed() {
		return nil
	}
	if !r.sequences {
		last := x.Shape()[1] - 1
		x = ops.Squeeze(mc, ops.Slice(mc, x, []int{0, last, 0}, []int{-1, 1, -1}), 1)
	}
	return layers.Dense(mc, x, units, layers.Weights{Name: "rnn_model/logits"})
}

// scopes returns the scopes of the layers' variables. Repeated names are numbered.
func (r *rnn) scopes() []string {
	parent := "rnn_model/rnn/"
	if len(r.cells) > 1 {
		parent += "stacked_rnn_cells/"
	}
	out, seen := make([]string, len(r.cells)), map[string]int{}
	for i, c := range r.cells {
		name := c.Name()
		out[i] = parent + name
		if n := seen[name]; n > 0 {
			out[i] += fmt.Sprintf("_%d", n)
		}
		seen[name]++
	}
	return out
}

func (r *rnn) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	return r.optimizer.in(mc).Minimize(mc, loss)
}

// maskedHead passes the mask of the steps that are present to a head of steps.
type maskedHead struct {
	heads.SequentialHead
	sequence []feature.Input
}

// Spec returns the Spec of mc's mode.
func (h maskedHead) Spec(mc *estimator.ModelContext, in heads.Inputs) (*estimator.Spec, error) {
	mask := columns.SequenceMask(mc, in.Features, h.sequence)
	if mc.Failed() {
		return nil, mc.Err()
	}
	list := append(slices.Clone(in.Features.All()), models.Feature{Name: h.Mask(), Dense: mask})
	in.Features = models.NewFeatures(mc, list...)
	return h.SequentialHead.Spec(mc, in)
}
