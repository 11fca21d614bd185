package trees

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Divided is a loss whose outputs can be grown by trees of their own.
type Divided interface {
	Loss
	// Output is the loss as one of output k alone, where the others are as in outputs, [rows, dim]. They are not kept.
	Output(k int, outputs []float32) Loss
}

// outputs returns the outputs that a tree grows by, from and before which.
func (c *Config) outputs(tree int64) (from, to int) {
	if !c.ClassTrees {
		return 0, c.Dim
	}
	k := int(tree % int64(c.Dim))
	return k, k + 1
}

// checkClassTrees returns an error where each class cannot have as many trees.
func (c *Config) checkClassTrees() error {
	switch {
	case !c.ClassTrees:
		return nil
	case c.Dim < 2:
		return fmt.Errorf("%w: class_trees of one output, expected more than two classes", ErrConfig)
	case c.Trees%c.Dim != 0:
		return fmt.Errorf("%w: n_trees %d of %d classes that have their own trees, expected a multiple", ErrConfig, c.Trees, c.Dim)
	case c.Trees > maxNodes/c.treeNodes()/c.Dim:
		return fmt.Errorf("%w: %d trees of depth %d for %d classes have %d numbers, expected at most %d: use fewer or less deep trees, or class_trees: false",
			ErrConfig, c.Trees, c.Depth, c.Dim, c.Nodes()*c.Dim, maxNodes)
	}
	return nil
}

// checkOutputs tells an ensemble whose first tree is of all outputs from one of class trees.
func (e *Ensemble) checkOutputs(c *Config) error {
	left := int(e.Left[0])
	if !c.ClassTrees || left == 0 {
		return nil
	}
	for _, child := range []int{left, left + 1} {
		if !slices.Equal(e.Values[child*c.Dim+1:(child+1)*c.Dim], e.Values[1:c.Dim]) {
			return fmt.Errorf("%w: its trees are of all classes, expected that each has its own: go on with class_trees: false, or train in an empty folder", ErrEnsemble)
		}
	}
	return nil
}

// of returns the sums of outputs [from, to) alone.
func (s *Sums) of(from, to int) *Sums {
	if to-from == s.Dim {
		return s
	}
	out := &Sums{}
	out.resize(s.Nodes, to-from, s.Bins)
	for n := range s.Nodes {
		for k := from; k < to; k++ {
			copy(out.output(n, k-from), s.output(n, k))
		}
	}
	return out
}

// turn makes the outputs that the growing tree grows by the ones that the trainer computes. The values that a tree has for other outputs are
// those of its root.
func (t *Trainer) turn() {
	c, e := t.Config, t.Ensemble
	t.from, t.to = 0, c.Dim
	if e.State[StateCentered] < 0 {
		t.from, t.to = c.outputs(e.State[StateTrees])
	}
	if t.width() == c.Dim {
		t.base, t.loss = t.all, t.given
		return
	}
	root := int(e.State[StateTrees]) * c.treeNodes()
	for k, v := range e.Values[root*c.Dim : (root+1)*c.Dim] {
		if v == 0 || k == t.from {
			continue
		}
		for at := k; at < len(t.all); at += c.Dim {
			t.all[at] += v
		}
	}
	t.base = make(outputs, len(t.rows))
	for r := range t.base {
		t.base[r] = t.all[r*c.Dim+t.from]
	}
	t.loss = t.given.(Divided).Output(t.from, t.all)
}

// keep puts the base into the outputs of all trees, unless these are the base.
func (t *Trainer) keep(base, all outputs) {
	if t.width() == t.Config.Dim {
		return
	}
	for r, v := range base {
		all[r*t.Config.Dim+t.from] = v
	}
}

// width is how many outputs the growing tree grows by, values are a node's.
func (t *Trainer) width() int { return t.to - t.from }

func (t *Trainer) values(node int) []float32 {
	at := node * t.Config.Dim
	return t.Ensemble.Values[at+t.from : at+t.to]
}

// mostLogit bounds logits, so that the sum of their powers is finite and not 0.
const mostLogit = 80

// Output is the loss of class k alone: a sigmoid's, of the logit less the logarithm of the other classes' sum.
func (l *Softmax) Output(k int, outputs []float32) Loss {
	powers := make([]float32, len(outputs))
	for i, v := range outputs {
		powers[i] = min(max(v, -mostLogit), mostLogit)
	}
	kernels.Unary(kernels.Exp, powers, powers)
	o := &classLoss{of: l, class: int64(k), others: make([]float32, len(l.Classes))}
	for r := range o.others {
		var sum float32
		for j, v := range powers[r*l.Dim : (r+1)*l.Dim] {
			if j != k {
				sum += v
			}
		}
		o.others[r] = sum
	}
	kernels.Unary(kernels.Log, o.others, o.others)
	return o
}

// classLoss is the softmax cross-entropy as a loss of one class's logits.
type classLoss struct {
	of     *Softmax
	class  int64
	others []float32 // of each row the logarithm of the sum of the other classes' powers
}

// Gradients are w(p-1) for examples of the class and wp for the others, and wp(1-p).
func (l *classLoss) Gradients(rows []int32, logits, out []float32) {
	for i, r := range rows {
		logits[i] -= l.others[r]
	}
	p := logits[:min((len(rows)+Lanes-1)/Lanes*Lanes, cap(logits))]
	kernels.Unary(kernels.Sigmoid, p, p)
	for i, r := range rows {
		g, w := p[i], weight(l.of.Weights, r)
		if l.of.Classes[r] == l.class {
			g--
		}
		out[2*i], out[2*i+1] = w*g, w*p[i]*(1-p[i])
	}
}
