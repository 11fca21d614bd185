package trees

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Divided is a loss whose outputs can each have their own trees.
type Divided interface {
	Loss
	Divide() Division
}

// Division is a loss, divided into losses of one output each. Note must be called for all outputs before Output.
type Division interface {
	// Note records output k of all rows. outputs is [rows, dim] and is not kept.
	Note(k int, outputs []float32)
	// Output returns the loss as a function of output k only, with the other outputs as recorded. The next call reuses its memory.
	Output(k int) Loss
}

// outputs returns the range [from, to) of outputs that a tree grows by.
func (c *Config) outputs(tree int64) (from, to int) {
	if !c.ClassTrees {
		return 0, c.Dim
	}
	k := int(tree % int64(c.Dim))
	return k, k + 1
}

// checkClassTrees returns an error if the classes cannot have the same number of trees each.
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

// checkOutputs returns an error if c has class trees and the ensemble's first tree is for all outputs.
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

// of returns the sums of outputs [from, to).
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

// turn makes the trainer compute the outputs of the growing tree. The tree's values for all other outputs are its root's values.
func (t *Trainer) turn() {
	c, e, last := t.Config, t.Ensemble, t.from
	t.from, t.to = 0, c.Dim
	if e.State[StateCentered] < 0 {
		t.from, t.to = c.outputs(e.State[StateTrees])
	}
	if t.width() == c.Dim {
		t.base, t.loss = t.all, t.given
		return
	}
	first := t.division == nil
	if first {
		t.division = t.given.(Divided).Divide()
	}
	root := int(e.State[StateTrees]) * c.treeNodes()
	for k, v := range e.Values[root*c.Dim : (root+1)*c.Dim] {
		changed := v != 0 && k != t.from
		for at := k; changed && at < len(t.all); at += c.Dim {
			t.all[at] += v
		}
		if changed || first || k == last {
			t.division.Note(k, t.all)
		}
	}
	t.base = make(outputs, len(t.rows))
	for r := range t.base {
		t.base[r] = t.all[r*c.Dim+t.from]
	}
	t.loss = t.division.Output(t.from)
}

// keep copies the base into the outputs of all trees, unless they are the same.
func (t *Trainer) keep(base, all outputs) {
	if t.width() == t.Config.Dim {
		return
	}
	for r, v := range base {
		all[r*t.Config.Dim+t.from] = v
	}
}

// width is the number of outputs that the growing tree grows by; values returns a node's values for them.
func (t *Trainer) width() int { return t.to - t.from }

func (t *Trainer) values(node int) []float32 {
	at := node * t.Config.Dim
	return t.Ensemble.Values[at+t.from : at+t.to]
}

// mostLogit bounds logits, so that the sum of their exponentials is finite and not 0.
const mostLogit = 80

// Divide divides the loss into losses of one class each.
func (l *Softmax) Divide() Division { return &classLosses{of: l, powers: make([][]float32, l.Dim)} }

// classLosses has the common part of the losses of the classes. A tree changes only the logits of one class, so the exponentials of
// the others stay.
type classLosses struct {
	of     *Softmax
	powers [][]float32 // [dim][rows]: exp of the logits
	others []float32   // the current loss's
}

// Note computes the exponentials of a class.
func (l *classLosses) Note(k int, outputs []float32) {
	l.powers[k] = grown(l.powers[k], len(l.of.Classes))
	p := l.powers[k]
	for r := range p {
		p[r] = min(max(outputs[r*l.of.Dim+k], -mostLogit), mostLogit)
	}
	kernels.Unary(kernels.Exp, p, p)
}

// Output returns the loss of class k only: sigmoid cross-entropy of the logit minus the logarithm of the other classes' sum.
func (l *classLosses) Output(k int) Loss {
	l.others = grown(l.others, len(l.of.Classes))
	clear(l.others)
	for j, p := range l.powers {
		if j != k {
			kernels.Binary(kernels.Add, l.others, l.others, p)
		}
	}
	kernels.Unary(kernels.Log, l.others, l.others)
	return &classLoss{of: l.of, class: int64(k), others: l.others}
}

// classLoss is the softmax cross-entropy as a loss of one class's logits.
type classLoss struct {
	of     *Softmax
	class  int64
	others []float32 // [rows]: logarithm of the sum of the other classes' exponentials
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
