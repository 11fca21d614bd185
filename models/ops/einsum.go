package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Einsum sums products of tensors by Einstein's convention, as tf.einsum does: each
// dimension has a letter, dimensions with the same letter are aligned, and letters that
// the result does not have are summed over. "..." stands for dimensions that broadcast.
// It is made of transpositions and one matrix product for each operand after the first.
func Einsum(c models.Context, equation string, in ...*G.Node) *G.Node {
	const name = "Einsum"
	if len(in) == 0 {
		c.Core().Failf("%s: no operands: expected at least one", name)
		return nil
	}
	if !floats(c, name, in...) {
		return nil
	}
	var ranks []int
	for _, n := range in {
		ranks = append(ranks, len(n.Shape()))
	}
	e, err := parseEinsum(equation, ranks)
	if err != nil {
		c.Core().Failf("%s: %w", name, err)
		return nil
	}
	var have *labelled
	for i := range in {
		next := diagonal(c, &labelled{in[i], e.in[i]})
		if have == nil {
			have = next
			continue
		}
		later := slices.Clone(e.out)
		for _, l := range e.in[i+1:] {
			later = append(later, l...)
		}
		have = contract(c, have, next, later)
	}
	return finish(c, have, e.out)
}

// labelled is a tensor with a label for each dimension.
type labelled struct {
	node   *G.Node
	labels []int
}

func (t *labelled) size(label int) int { return t.node.Shape()[slices.Index(t.labels, label)] }

// diagonal takes the diagonal of dimensions that share a label.
func diagonal(c models.Context, t *labelled) *labelled {
	for i := 0; i < len(t.labels); i++ {
		j := i + 1 + slices.Index(t.labels[i+1:], t.labels[i])
		if j == i || c.Core().Failed() {
			continue
		}
		s := t.node.Shape()
		if s[i] != s[j] {
			c.Core().Failf("Einsum: dimensions %d and %d of shape %v have one label: expected one size", i, j, s)
			return t
		}
		n := s[i]
		rest, labels := []int{}, []int{}
		for k := range s {
			if k != i && k != j {
				rest, labels = append(rest, k), append(labels, t.labels[k])
			}
		}
		moved := permuted(c, t.node, append(rest, i, j))
		if moved == nil {
			return t
		}
		lead := []int(moved.Shape()[:len(rest)])
		every := append(slices.Repeat([]Range{All}, len(rest)), Range{To: End, Step: n + 1})
		t = &labelled{StridedSlice(c, Reshape(c, moved, append(slices.Clone(lead), n*n)...), every...), append(labels, t.labels[i])}
		i--
	}
	return t
}

// sumOut sums over the labels that are not kept.
func sumOut(c models.Context, t *labelled, kept ...[]int) *labelled {
	var axes, labels []int
	for i, l := range t.labels {
		if slices.ContainsFunc(kept, func(k []int) bool { return slices.Contains(k, l) }) {
			labels = append(labels, l)
		} else {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 || c.Core().Failed() {
		return t
	}
	return &labelled{Sum(c, t.node, Axes(axes...)), labels}
}

// contract multiplies two tensors and sums over their common labels that are not in later.
func contract(c models.Context, a, b *labelled, later []int) *labelled {
	a, b = sumOut(c, a, b.labels, later), sumOut(c, b, a.labels, later)
	if c.Core().Failed() {
		return a
	}
	var both, sum, ofA, ofB []int
	for _, l := range a.labels {
		switch shared := slices.Contains(b.labels, l); {
		case shared && l >= 0 && a.size(l) != b.size(l):
			c.Core().Failf("Einsum: the label %q stands for %d and for %d: expected one size", rune(l), a.size(l), b.size(l))
			return a
		case shared && slices.Contains(later, l):
			both = append(both, l)
		case shared:
			sum = append(sum, l)
		default:
			ofA = append(ofA, l)
		}
	}
	for _, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			ofB = append(ofB, l)
		}
	}
	x, ta := matrixOf(c, a, both, ofA, sum)
	y, tb := matrixOf(c, b, both, sum, ofB)
	if c.Core().Failed() {
		return a
	}
	var shape []int
	for _, l := range both {
		shape = append(shape, max(a.size(l), b.size(l)))
	}
	for _, l := range ofA {
		shape = append(shape, a.size(l))
	}
	for _, l := range ofB {
		shape = append(shape, b.size(l))
	}
	mul := BatchMatMul
	if len(both) == 0 {
		mul = MatMulT
	}
	return &labelled{Reshape(c, mul(c, x, y, ta, tb), shape...), slices.Concat(both, ofA, ofB)}
}

// matrixOf returns t as matrices, one for each index of the labels both, with rows and
// columns of the given labels. It reports whether the matrices are transposed: a tensor
// that already has that order is not moved.
func matrixOf(c models.Context, t *labelled, both, rows, cols []int) (*G.Node, bool) {
	m, n := 1, 1
	for _, l := range rows {
		m *= t.size(l)
	}
	for _, l := range cols {
		n *= t.size(l)
	}
	lead := []int{}
	for _, l := range both {
		lead = append(lead, t.size(l))
	}
	if slices.Equal(t.labels, slices.Concat(both, cols, rows)) && !slices.Equal(t.labels, slices.Concat(both, rows, cols)) {
		return Reshape(c, t.node, append(lead, n, m)...), true
	}
	return Reshape(c, ordered(c, t, slices.Concat(both, rows, cols)), append(lead, m, n)...), false
}

// ordered moves t's dimensions into the order of the labels.
func ordered(c models.Context, t *labelled, labels []int) *G.Node {
	perm := make([]int, len(labels))
	for i, l := range labels {
		perm[i] = slices.Index(t.labels, l)
	}
	return permuted(c, t.node, perm)
}

// finish puts the result in order. A label that it has twice makes a diagonal.
func finish(c models.Context, t *labelled, out []int) *G.Node {
	t = sumOut(c, t, out)
	if c.Core().Failed() {
		return nil
	}
	var once, again []int
	for _, l := range out {
		if slices.Contains(once, l) {
			again = append(again, l)
		} else {
			once = append(once, l)
		}
	}
	if len(again) == 0 {
		return ordered(c, t, out)
	}
	l := again[0]
	n := t.size(l)
	rest := slices.DeleteFunc(slices.Clone(t.labels), func(k int) bool { return k == l })
	x := ExpandDims(c, ordered(c, t, append(rest, l)), -1)
	if c.Core().Failed() {
		return nil
	}
	lead := []int(x.Shape()[:len(rest)])
	padded := Pad(c, x, append(slices.Repeat([][2]int{{}}, len(rest)+1), [2]int{0, n})) // each element begins a row of n+1
	flat := Reshape(c, padded, append(slices.Clone(lead), n*(n+1))...)
	square := StridedSlice(c, flat, append(slices.Repeat([]Range{All}, len(rest)), Range{To: n * n})...)
	// The second of the two dimensions has a label of its own until both are in place.
	other := 1<<20 + len(t.labels)
	target := slices.Clone(out)
	target[lastIndex(target, l)] = other
	return finish(c, &labelled{Reshape(c, square, append(slices.Clone(lead), n, n)...), append(rest, l, other)}, target)
}

func lastIndex(s []int, v int) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == v {
			return i
		}
	}
	return -1
}
