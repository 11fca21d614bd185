package layers

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Rotary rotates the pairs (i, i+depth/2) of x [batch, length, heads, depth] by angles
// that grow with the position, so that products of queries and keys depend on their
// distance (Su et al., "RoFormer", 2021). Pair i at position p is rotated by
// p·base^(-2i/depth). depth must be even.
func Rotary(c models.Context, x *G.Node, base float64) *G.Node {
	if !usable(c, "rotary", x, 4) {
		return nil
	}
	length, depth := x.Shape()[1], x.Shape()[3]
	if depth%2 != 0 || !(base > 0) {
		c.Core().Failf("rotary: depth %d and base %v: expected an even depth and a base > 0", depth, base)
		return nil
	}
	cos, sin := angles(c, x, length, base)
	return turned(c, x, ops.ExpandDims(c, cos, 1), ops.ExpandDims(c, sin, 1))
}

// RotaryAt is Rotary for x [batch, 1, heads, depth] at one position of each text: int32 [batch], in 0..rows-1.
func RotaryAt(c models.Context, x, position *G.Node, rows int, base float64) *G.Node {
	if !usable(c, "rotary", x, 4) || !usable(c, "rotary", position, 1) {
		return nil
	}
	if length, depth := x.Shape()[1], x.Shape()[3]; length != 1 || rows < 1 || depth%2 != 0 || !(base > 0) {
		c.Core().Failf("rotary: %d positions of %d, depth %d and base %v: expected one position, an even depth and a base > 0", length, rows, depth, base)
		return nil
	}
	cos, sin := angles(c, x, rows, base)
	here := func(table *G.Node) *G.Node {
		return ops.ExpandDims(c, ops.ExpandDims(c, ops.GatherAxis(c, table, position, 0), 1), 1)
	}
	return turned(c, x, here(cos), here(sin))
}

// angles returns the cosines and sines of the angles by which pairs of x [..., depth] are rotated, [positions, depth/2].
func angles(c models.Context, x *G.Node, positions int, base float64) (cos, sin *G.Node) {
	depth := x.Shape()[3]
	at := func(f func(float64) float64) *G.Node {
		return table(c, x, []int{positions, depth / 2}, func(p, i int) float64 { return f(angle(p, i, depth, base)) })
	}
	return at(math.Cos), at(math.Sin)
}

// turned rotates the pairs of x.
func turned(c models.Context, x, cos, sin *G.Node) *G.Node {
	half := ops.Split(c, x, 2, 3)
	if c.Core().Failed() {
		return nil
	}
	a, b := half[0], half[1]
	return ops.Concat(c, 3, ops.Sub(c, ops.Mul(c, a, cos), ops.Mul(c, b, sin)), ops.Add(c, ops.Mul(c, b, cos), ops.Mul(c, a, sin)))
}

// SinusoidalPositions adds sines and cosines of the position to x [batch, length, width], with
// wavelengths of up to base·2π (Vaswani et al. 2017): sines to the first half, cosines to the second.
func SinusoidalPositions(c models.Context, x *G.Node, base float64) *G.Node {
	if !usable(c, "sinusoidal_positions", x, 3) {
		return nil
	}
	length, width := x.Shape()[1], x.Shape()[2]
	if width%2 != 0 || !(base > 0) {
		c.Core().Failf("sinusoidal_positions: width %d and base %v: expected an even width and a base > 0", width, base)
		return nil
	}
	return ops.Add(c, x, table(c, x, []int{length, width}, func(p, i int) float64 {
		if i < width/2 {
			return math.Sin(angle(p, i, width, base))
		}
		return math.Cos(angle(p, i-width/2, width, base))
	}))
}

// LearnedPositions adds a trained row for each position to x [batch, length, width]: the first length
// rows of the variable position_embedding/embeddings [rows, width]. length must be at most rows.
func LearnedPositions(c models.Context, x *G.Node, rows int, w Weights) (y *G.Node) {
	const name = "position_embedding"
	if !usable(c, name, x, 3) {
		return nil
	}
	length, width := x.Shape()[1], x.Shape()[2]
	if length > rows {
		c.Core().Failf("%s: %d positions of a table of %d", name, length, rows)
		return nil
	}
	scope(c, w.Name, name, func() {
		all := w.kernel(c, "embeddings", rows, width)
		y = ops.Add(c, x, ops.Slice(c, all, []int{0, 0}, []int{length, width}))
	})
	return y
}

// table returns a constant of x's type whose elements depend on the first and the last index.
func table(c models.Context, x *G.Node, shape []int, f func(p, i int) float64) *G.Node {
	d := models.GraphType(x.Dtype())
	t := tensor.New(d, shape...)
	n := shape[len(shape)-1]
	for k := range t.Len() {
		if v := f(k/n, k%n); d == tensor.Float32 {
			tensor.Values[float32](t)[k] = float32(v)
		} else {
			tensor.Values[float64](t)[k] = v
		}
	}
	return ops.Constant(c, t)
}
