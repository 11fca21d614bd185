package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// A Border says what PadBorder puts before and after the elements a b c of a dimension.
type Border int

// The borders.
const (
	Reflect   Border = iota // c b | a b c | b a: the elements in reverse, without the edge element
	Symmetric               // b a | a b c | c b: the elements in reverse, with the edge element
	Replicate               // a a | a b c | c c: the edge element
	Circular                // b c | a b c | a b: the elements of the other end
)

// String returns the name of the border.
func (b Border) String() string {
	switch b {
	case Reflect:
		return "reflect"
	case Symmetric:
		return "symmetric"
	case Replicate:
		return "replicate"
	case Circular:
		return "circular"
	}
	return "unknown"
}

// most returns the most elements that a border can add at each end of a dimension of n.
func (b Border) most(n int) int {
	switch b {
	case Reflect:
		return n - 1
	case Replicate:
		return End
	}
	return n
}

// PadBorder adds elements of x before and after each dimension; paddings[i] has both counts. The batch, the first dimension, must not
// be padded.
func PadBorder(c models.Context, x *G.Node, paddings [][2]int, border Border) *G.Node {
	const name = "PadBorder"
	if !ready(c, name, x) {
		return nil
	}
	s := x.Shape()
	if len(paddings) != len(s) || border < Reflect || border > Circular {
		c.Core().Failf("%s: %d paddings for shape %v, border %d: expected one pair per dimension, and Reflect, Symmetric, Replicate or Circular", name, len(paddings), s, border)
		return nil
	}
	for k, p := range paddings {
		if most := border.most(s[k]); min(p[0], p[1]) < 0 || max(p[0], p[1]) > most {
			c.Core().Failf("%s: padding %v of dimension %d of shape %v: expected 0 to %d elements of a %s border", name, p, k, s, most, border)
			return nil
		}
		if k == 0 && p != [2]int{} {
			c.Core().Failf("%s: padding %v of the batch: expected none of dimension 0", name, p)
			return nil
		}
	}
	for k, p := range paddings {
		x = border.around(c, x, k, p)
	}
	return x
}

// around pads one dimension.
func (b Border) around(c models.Context, x *G.Node, k int, p [2]int) *G.Node {
	if c.Core().Failed() || p == [2]int{} {
		return x
	}
	n := x.Shape()[k]
	part := func(from, size int) *G.Node {
		begin, sizes := make([]int, len(x.Shape())), wholeSize(x)
		begin[k], sizes[k] = from, size
		return Slice(c, x, begin, sizes)
	}
	var before, after func(size int) *G.Node
	switch b {
	case Reflect:
		before = func(size int) *G.Node { return Reverse(c, part(1, size), k) }
		after = func(size int) *G.Node { return Reverse(c, part(n-1-size, size), k) }
	case Symmetric:
		before = func(size int) *G.Node { return Reverse(c, part(0, size), k) }
		after = func(size int) *G.Node { return Reverse(c, part(n-size, size), k) }
	case Replicate:
		before = func(size int) *G.Node { return repeated(c, part(0, 1), k, size) }
		after = func(size int) *G.Node { return repeated(c, part(n-1, 1), k, size) }
	case Circular:
		before = func(size int) *G.Node { return part(n-size, size) }
		after = func(size int) *G.Node { return part(0, size) }
	}
	parts := []*G.Node{x}
	if p[0] > 0 {
		parts = []*G.Node{before(p[0]), x}
	}
	if p[1] > 0 {
		parts = append(parts, after(p[1]))
	}
	return Concat(c, k, parts...)
}

// repeated repeats x along one dimension.
func repeated(c models.Context, x *G.Node, k, times int) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	multiples := slices.Repeat([]int{1}, len(x.Shape()))
	multiples[k] = times
	return Tile(c, x, multiples...)
}
