package columns

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// SequenceScope is the scope of the tables in tf.estimator's recurrent models, and
// ContextScope the scope of the tables of columns that are repeated at every step.
const (
	SequenceScope = "sequence_features"
	ContextScope  = "dense_features"
)

// Sequence is the input of a recurrent network.
type Sequence struct {
	Steps   *G.Node // [batch, T, width]; values after an example's last step have no meaning
	Lengths *G.Node // steps of each example, int64 [batch]
}

// SequenceInput returns the sequence columns side by side, in the order of in, padded
// to T steps. T is a power of two that no example of the batch exceeds: the model is
// built again for longer examples. Tables are variables below scope, for example
// SequenceScope. The caller checks that each example has the same number of steps in
// every column.
func SequenceInput(c models.Context, f models.Features, in []feature.Input, scope string) Sequence {
	rs, length := sequences(c, f, in)
	if c.Core().Failed() {
		return Sequence{}
	}
	parts := make([]*G.Node, len(in))
	for i, input := range in {
		if input.Kind == feature.IDSteps {
			parts[i] = rowsOfSteps(c, input, ops.RaggedToDense(c, rs[i], length), table(c, input.Table, scope))
			continue
		}
		x := ops.Cast(c, ops.RaggedToDense(c, rs[i], length), c.Core().DType())
		if input.Width == 1 {
			x = ops.ExpandDims(c, x, -1)
		}
		parts[i] = x
	}
	s := Sequence{Steps: ops.Concat(c, 2, parts...), Lengths: ops.SequenceLengths(c, rs[0])}
	if c.Core().Failed() {
		return Sequence{}
	}
	return s
}

// sequences returns the ragged features of the columns and T.
func sequences(c models.Context, f models.Features, in []feature.Input) ([]*models.Ragged, int) {
	if len(in) == 0 {
		c.Core().Failf("sequence input: no columns: expected at least one")
	}
	rs, length := make([]*models.Ragged, len(in)), 1
	for i, input := range in {
		if rs[i] = steps(c, f, input); rs[i] == nil {
			return nil, 0
		}
		length = max(length, rs[i].MaxLength())
	}
	return rs, length
}

// steps returns the ragged feature of a column as a sequence, or nil after an error.
func steps(c models.Context, f models.Features, in feature.Input) *models.Ragged {
	var width int
	switch in.Kind {
	case feature.NumberSteps:
		width = in.Width
	case feature.IDSteps:
		width = 1
	default:
		c.Core().Failf("column %s: %s are no sequence: expected steps of numbers or of ids", in.Column, in.Kind)
	}
	if c.Core().Failed() {
		return nil
	}
	r := f.Ragged(in.Values)
	if r == nil {
		return nil
	}
	if in.Kind == feature.IDSteps {
		r.Below(in.Buckets)
	}
	return r.Steps(width)
}

// rowsOfSteps returns the row of each step's id, zeros for id -1, with norms of at most in.MaxNorm.
func rowsOfSteps(c models.Context, in feature.Input, ids, rows *G.Node) *G.Node {
	x := ops.Lookup(c, rows, ids)
	if in.MaxNorm == 0 || c.Core().Failed() {
		return x
	}
	// Below half the limit the norm does not matter, and the norm of 0 has no gradient.
	limit := func(v float64) *G.Node { return ops.Scalar(c, c.Core().DType(), v) }
	squares := ops.Sum(c, ops.Square(c, x), ops.KeepAxes(-1))
	norm := ops.Sqrt(c, ops.Maximum(c, squares, limit(in.MaxNorm*in.MaxNorm/4)))
	return ops.Mul(c, x, ops.Div(c, limit(in.MaxNorm), ops.Maximum(c, norm, limit(in.MaxNorm))))
}

// WithContext repeats the context [batch, d] at every step, after the columns of
// the sequence.
func (s Sequence) WithContext(c models.Context, context *G.Node) Sequence {
	if c.Core().Failed() {
		return Sequence{}
	}
	shape := s.Steps.Shape()
	repeated := ops.Tile(c, ops.ExpandDims(c, context, 1), 1, shape[1], 1)
	return Sequence{Steps: ops.Concat(c, 2, s.Steps, repeated), Lengths: s.Lengths}
}

// SequenceMask says which of SequenceInput's steps are present, bool [batch, T].
func SequenceMask(c models.Context, f models.Features, in []feature.Input) *G.Node {
	rs, length := sequences(c, f, in)
	if c.Core().Failed() {
		return nil
	}
	places := make([]int64, length)
	for i := range places {
		places[i] = int64(i)
	}
	t, err := tensor.FromSlice(places, 1, length)
	if err != nil {
		c.Core().Fail(err)
		return nil
	}
	return ops.Less(c, ops.Constant(c, t), ops.ExpandDims(c, ops.SequenceLengths(c, rs[0]), -1))
}
