package trees

import (
	"errors"
	"math"
)

// ErrGradient means that the loss of an example has no finite gradient: its logits, label or weight are NaN or too large.
var ErrGradient = errors.New("the gradient of an example's loss is not finite")

// Gradients become whole numbers before they are summed. So the sum of a bin has the same bits for any order and number of
// threads, and one instruction adds a pair of gradient and hessian. A pair is an int64 with the gradient in the upper half
// and the hessian, which is not negative, in the lower one. Up to packedRows pairs can be summed before a half overflows: a
// whole number is at most 1<<packedBits, to which the largest may be rounded up, and a sum of 1<<13 of these would overflow
// an int32. A unit is a power of two, so that float64 sums of several batches stay exact if their magnitudes are similar.
const (
	packedRows = 1<<13 - 1
	packedBits = 18
)

// gradients are the gradients and hessians of examples, [position, dim, 2], and their units.
type gradients struct {
	dim   int
	v     []float32
	units []float64 // [dim, 2]
	max   []uint32  // [part, dim, 2]: bits of the largest magnitudes of each part
}

// resize makes room for positions that are computed in parts.
func (g *gradients) resize(positions, parts, dim int) {
	g.dim = dim
	g.v = grown(g.v, positions*dim*2)
	g.max = grown(g.max, parts*dim*2)
	clear(g.max)
	g.units = grown(g.units, dim*2)
}

// measure raises the largest magnitudes of a part to include positions [from, to).
func (g *gradients) measure(part, from, to int) {
	width := g.dim * 2
	v, most := g.v[from*width:to*width], g.max[part*width:(part+1)*width]
	if width == 2 {
		var mg, mh uint32
		for len(v) >= 4 {
			a := max(math.Float32bits(v[0])&^(1<<31), math.Float32bits(v[2])&^(1<<31))
			mh = max(mh, math.Float32bits(v[1])&^(1<<31), math.Float32bits(v[3])&^(1<<31))
			mg = max(mg, a)
			v = v[4:]
		}
		most[0], most[1] = max(most[0], mg), max(most[1], mh)
	}
	for i, x := range v {
		k := i % width
		most[k] = max(most[k], math.Float32bits(x)&^(1<<31))
	}
}

// scale sets the units once all parts are measured.
func (g *gradients) scale() error {
	width := g.dim * 2
	for k := range width {
		var m uint32
		for i := k; i < len(g.max); i += width {
			m = max(m, g.max[i])
		}
		largest := math.Float32frombits(m)
		if !finite(float64(largest)) {
			return ErrGradient
		}
		_, exp := math.Frexp(float64(largest))
		g.units[k] = math.Ldexp(1, max(exp, -90)-packedBits)
	}
	return nil
}

// pack sets q to the pairs of output k at the positions from from on, as whole numbers of units, and returns their sum.
func (g *gradients) pack(q []int64, k, from int) pair {
	const bias = 1 << packedBits
	sg, sh := float32(1/g.units[2*k]), float32(1/g.units[2*k+1])
	width := g.dim * 2
	at := from*width + 2*k
	var sum int64
	for i := range q {
		// Adding half a unit and a bias that keeps the number positive makes the truncation round.
		whole := int64(g.v[at]*sg+(bias+0.5)) - bias
		p := whole<<32 + int64(g.v[at+1]*sh+0.5)
		q[i] = p
		sum += p
		at += width
	}
	return unpack(sum)
}

// pair is a sum of gradients and a sum of hessians, in units.
type pair struct{ G, H int64 }

func unpack(v int64) pair { return pair{G: v >> 32, H: v & (1<<32 - 1)} }

// grown returns a slice of n elements: s if it is large enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
