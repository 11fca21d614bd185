package update

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/tensor"
)

// Clip applies the transforms to gradients, for a strategy that updates
// each variable separately, in another place. It returns the update to apply to them,
// which has no transforms.
func Clip(t *optimizers.TrainOp, b *graph.Builder, grads []lower.Value) (*optimizers.TrainOp, []lower.Value, error) {
	em := &emission{TrainOp: t, b: b}
	grads, err := em.transform(grads)
	if err != nil {
		return nil, nil, err
	}
	plain := *t
	plain.Transforms = nil
	return &plain, grads, b.Err()
}

// transform applies the transforms in order. They see the same values of a sparse gradient as
// in TensorFlow: for a lookup of sparse ids the sum of the rows of each
// index, for a plain gather each row. Several lookups in one table are
// seen next to each other.
func (em *emission) transform(grads []lower.Value) ([]lower.Value, error) {
	if len(em.Transforms) == 0 {
		return grads, nil
	}
	grads = em.sumByIndex(grads)
	for _, t := range em.Transforms {
		if !(t.Limit > 0) {
			return nil, fmt.Errorf("train op: %s %g: expected > 0", t.Kind, t.Limit)
		}
		out := make([]lower.Value, len(grads))
		switch t.Kind {
		case optimizers.ClipNorm:
			for i, g := range grads {
				out[i] = em.scale(g, em.clipFactor("clip_by_norm/", t.Limit, em.norm("clip_by_norm/", grads[i:i+1])))
			}
		case optimizers.ClipGlobalNorm:
			norm := em.norm("clip_by_global_norm/", grads)
			factor := em.orNaN(em.clipFactor("clip_by_global_norm/", t.Limit, norm), norm)
			for i, g := range grads {
				out[i] = em.scale(g, factor)
			}
		case optimizers.ClipValue:
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

// sumByIndex sums rows with equal indices, for lookups that TensorFlow sums by index.
func (em *emission) sumByIndex(grads []lower.Value) []lower.Value {
	out := slices.Clone(grads)
	for i, g := range grads {
		out[i].Slices = slices.Clone(g.Slices)
		for j, s := range g.Slices {
			if s.ByIndex && s.Indices.Valid() {
				out[i].Slices[j] = lower.SumByIndex(em.b, "clip/SumByIndex", s, g.Dense)
			}
		}
	}
	return out
}

// norm is the L2 norm of all grads together, a float64 scalar.
func (em *emission) norm(scope string, grads []lower.Value) graph.Output {
	c := rule.Scalars{B: em.b, Scope: scope}
	var sum graph.Output
	for _, g := range grads {
		for _, x := range g.Parts() {
			half := em.b.Op("L2Loss", scope+"L2Loss", graph.Type{DType: x.DType()}, graph.Attrs{"T": x.DType()}, x)
			if next := em.b.Cast(scope+"Cast", half, tensor.Float64); sum.Valid() {
				sum = c.Op("AddV2", sum, next)
			} else {
				sum = next
			}
		}
	}
	return c.Op("Sqrt", c.Op("Mul", sum, c.Number(2)))
}

// clipFactor is limit / max(norm, limit).
func (em *emission) clipFactor(scope string, limit float64, norm graph.Output) graph.Output {
	c := rule.Scalars{B: em.b, Scope: scope}
	return c.Op("RealDiv", c.Number(limit), c.Op("Maximum", norm, c.Number(limit)))
}

// orNaN is x, or NaN if norm is not finite: a global clip then makes all
// gradients NaN, as in TensorFlow, so that the failure of the step is visible.
func (em *emission) orNaN(x, norm graph.Output) graph.Output {
	c := rule.Scalars{B: em.b, Scope: "clip_by_global_norm/"}
	return c.Op("AddV2", x, c.Op("Sub", norm, norm))
}

// scale multiplies a gradient by a float64 scalar.
func (em *emission) scale(g lower.Value, factor graph.Output) lower.Value {
	return em.with(g, "Mul", em.b.Cast("clip/Cast", factor, g.DType()))
}

func (em *emission) clamp(g lower.Value, limit float64) lower.Value {
	g = em.with(g, "Minimum", em.b.Scalar("clip_by_value/max", g.DType(), limit))
	return em.with(g, "Maximum", em.b.Scalar("clip_by_value/min", g.DType(), -limit))
}

// with applies an elementwise op with a scalar to the dense value or the rows of g.
func (em *emission) with(g lower.Value, op string, scalar graph.Output) lower.Value {
	return g.Map(func(x graph.Output) graph.Output {
		return em.b.Op(op, "clip/"+op, x.Type(), graph.Attrs{"T": x.DType()}, x, scalar)
	})
}
