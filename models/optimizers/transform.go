package optimizers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/lower"
)

// transform applies the transforms in order. Of a sparse gradient the rows are
// changed, as TensorFlow does; a row given twice counts as two.
func (em *emission) transform(grads []lower.Value) ([]lower.Value, error) {
	for _, t := range em.Transforms {
		if !(t.Limit > 0) {
			return nil, fmt.Errorf("train op: %s %g: expected > 0", t.Kind, t.Limit)
		}
		out := make([]lower.Value, len(grads))
		switch t.Kind {
		case ClipNorm:
			for i, g := range grads {
				out[i] = em.scale(g, em.clipFactor("clip_by_norm/", t.Limit, grads[i:i+1]))
			}
		case ClipGlobalNorm:
			factor := em.clipFactor("clip_by_global_norm/", t.Limit, grads)
			for i, g := range grads {
				out[i] = em.scale(g, factor)
			}
		case ClipValue:
			for i, g := range grads {
				out[i] = em.clamp(g, t.Limit)
			}
		default:
			return nil, fmt.Errorf("train op: unknown transform %q: expected clip_norm, clip_value or global_clip_norm", t.Kind)
		}
		grads = out
	}
	return grads, nil
}

// clipFactor is limit / max(norm of all grads, limit), a float64 scalar.
func (em *emission) clipFactor(scope string, limit float64, grads []lower.Value) graph.Output {
	c := calc{em.b, scope}
	sum := number(0)
	for i, g := range grads {
		half := em.b.Op("L2Loss", scope+"L2Loss", graph.Type{DType: g.DType()}, graph.Attrs{"T": g.DType()}, g.Output)
		half = cast(em.b, scope+"Cast", half, graph.Float64)
		if i == 0 {
			sum = num{out: half}
		} else {
			sum = c.add(sum, num{out: half})
		}
	}
	norm := c.sqrt(c.mul(sum, number(2)))
	return c.output(c.div(number(limit), c.max(norm, number(limit))))
}

// scale multiplies a gradient by a float64 scalar.
func (em *emission) scale(g lower.Value, factor graph.Output) lower.Value {
	return em.with(g, "Mul", cast(em.b, "clip/Cast", factor, g.DType()))
}

func (em *emission) clamp(g lower.Value, limit float64) lower.Value {
	g = em.with(g, "Minimum", em.b.Scalar("clip_by_value/max", g.DType(), limit))
	return em.with(g, "Maximum", em.b.Scalar("clip_by_value/min", g.DType(), -limit))
}

// with applies an elementwise op with a scalar to the dense value or the rows of g.
func (em *emission) with(g lower.Value, op string, scalar graph.Output) lower.Value {
	g.Output = em.b.Op(op, "clip/"+op, g.Output.Type(), graph.Attrs{"T": g.DType()}, g.Output, scalar)
	return g
}
