package losses

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Alignment says what a CTC loss aligns: the lengths of labels and of logits, int64 [batch]; nil if all have full length.
// Blank is the class between labels; -1 is the last class.
type Alignment struct {
	LabelLengths, LogitLengths *G.Node
	Blank                      int
}

// impossible is the logarithm of a probability of 0. It is finite, so that differences have a value.
const impossible = -1e30

// CTC is the negative logarithm of the probability that logits [batch, steps, classes] spell the labels, class ids
// [batch, length], with repetitions and blanks between them (Graves et al. 2006; tf.nn.ctc_loss); before reduction
// [batch]. If there are too few steps for the labels, it is +Inf, with a gradient of 0. Each step adds about ten
// nodes to the graph.
func CTC(c models.Context, labels, logits *G.Node, a Alignment, o Options) *G.Node {
	p := newAlignments(c, labels, logits, a)
	if p == nil {
		return nil
	}
	log := p.first(c)
	for t := 1; t < p.steps && !c.Core().Failed(); t++ {
		next := p.next(c, log, t)
		if a.LogitLengths != nil {
			going := ops.Greater(c, ops.ExpandDims(c, ops.Cast(c, a.LogitLengths, p.dtype), 1), constant(c, logits, float64(t)))
			next = ops.Where(c, going, next, log)
		}
		log = next
	}
	ended := ops.LogSumExp(c, ops.Where(c, p.last, log, constant(c, logits, impossible)), ops.Axes(1))
	never := ops.Less(c, ended, constant(c, logits, impossible/2))
	return Weighted(c, ops.Where(c, never, constant(c, logits, math.Inf(1)), ops.Neg(c, ended)), o)
}

// alignments are the states of labels with blanks around each of them, 2·length+1.
type alignments struct {
	dtype       tensor.DType
	steps       int
	states      int
	scores      *G.Node // [batch, steps, states]: the logarithms of the probabilities of each state's class
	skips, last *G.Node // bool [batch, states]: a state can follow the state two before it; a spelling can end in it
}

func newAlignments(c models.Context, labels, logits *G.Node, a Alignment) *alignments {
	const name = "ctc"
	if !given(c, name, labels, logits) {
		return nil
	}
	ls, xs := labels.Shape(), logits.Shape()
	if len(ls) != 2 || len(xs) != 3 || ls[0] != xs[0] || a.Blank < -1 || a.Blank >= xs[2] {
		c.Core().Failf("%s: labels %v, logits %v, blank %d: expected [batch, length], [batch, steps, classes] and a class", name, ls, xs, a.Blank)
		return nil
	}
	if a.Blank < 0 {
		a.Blank = xs[2] - 1
	}
	p := &alignments{dtype: models.GraphType(logits.Dtype()), steps: xs[1], states: 2*ls[1] + 1}
	ids := p.withBlanks(c, ops.Cast(c, labels, tensor.Int64), a.Blank)
	if c.Core().Failed() {
		return nil
	}
	// A product with one-hot columns selects the scores: logits that are not finite give NaN.
	chosen := ops.OneHot(c, ids, xs[2], p.dtype)
	p.scores = ops.BatchMatMul(c, ops.LogSoftmax(c, logits), chosen, false, true)
	p.skips = p.canSkip(c, ids, a.Blank)
	length := ops.Scalar(c, tensor.Int64, float64(ls[1]))
	if a.LabelLengths != nil {
		length = ops.ExpandDims(c, ops.Cast(c, a.LabelLengths, tensor.Int64), 1)
	}
	end := ops.Mul(c, length, ops.Scalar(c, tensor.Int64, 2))
	places := tensor.New(tensor.Int64, p.states)
	for s := range p.states {
		tensor.Values[int64](places)[s] = int64(s)
	}
	at := ops.Add(c, ops.Mul(c, ids, ops.Scalar(c, tensor.Int64, 0)), ops.Constant(c, places))
	p.last = ops.LogicalOr(c, ops.Equal(c, at, end), ops.Equal(c, at, ops.Sub(c, end, ops.Scalar(c, tensor.Int64, 1))))
	if c.Core().Failed() {
		return nil
	}
	return p
}

// withBlanks puts a blank before, between and after the labels.
func (p *alignments) withBlanks(c models.Context, labels *G.Node, blank int) *G.Node {
	blanks := ops.Add(c, ops.Mul(c, labels, ops.Scalar(c, tensor.Int64, 0)), ops.Scalar(c, tensor.Int64, float64(blank)))
	pairs := ops.Stack(c, 2, blanks, labels)
	if c.Core().Failed() {
		return nil
	}
	return ops.Concat(c, 1, ops.Reshape(c, pairs, -1, p.states-1), ops.Slice(c, blanks, []int{0, 0}, []int{-1, 1}))
}

// canSkip marks the labels that are not blank and differ from the previous label.
func (p *alignments) canSkip(c models.Context, ids *G.Node, blank int) *G.Node {
	b := ops.Scalar(c, tensor.Int64, float64(blank))
	behind := ops.Slice(c, ids, []int{0, 2}, []int{-1, p.states - 2})
	before := ops.Slice(c, ids, []int{0, 0}, []int{-1, p.states - 2})
	free := ops.LogicalAnd(c, ops.NotEqual(c, behind, b), ops.NotEqual(c, behind, before))
	first := ops.NotEqual(c, ops.Slice(c, ids, []int{0, 0}, []int{-1, 2}), ops.Slice(c, ids, []int{0, 0}, []int{-1, 2}))
	return ops.Concat(c, 1, first, free)
}

// at returns the scores of a step, [batch, states].
func (p *alignments) at(c models.Context, t int) *G.Node {
	return ops.Squeeze(c, ops.Slice(c, p.scores, []int{0, t, 0}, []int{-1, 1, p.states}), 1)
}

// first returns the scores of the first step: a spelling can begin in two states.
func (p *alignments) first(c models.Context) *G.Node {
	return ops.Concat(c, 1, ops.Slice(c, p.at(c, 0), []int{0, 0}, []int{-1, 2}), p.none(c, p.states-2))
}

// none returns the scores of n states that cannot be reached.
func (p *alignments) none(c models.Context, n int) *G.Node {
	first := ops.Slice(c, p.at(c, 0), []int{0, 0}, []int{-1, n})
	return ops.Add(c, ops.ZerosLike(c, first), constant(c, first, impossible))
}

// next adds the paths into each state: from itself, from the state before and, if labels differ, from the state before that.
func (p *alignments) next(c models.Context, log *G.Node, t int) *G.Node {
	one := ops.Concat(c, 1, p.none(c, 1), ops.Slice(c, log, []int{0, 0}, []int{-1, p.states - 1}))
	two := ops.Concat(c, 1, p.none(c, 2), ops.Slice(c, log, []int{0, 0}, []int{-1, p.states - 2}))
	two = ops.Where(c, p.skips, two, constant(c, two, impossible))
	return ops.Add(c, ops.LogSumExp(c, ops.Stack(c, 0, log, one, two), ops.Axes(0)), p.at(c, t))
}
