package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// accumulatorOps sum gradients over several steps. A take waits until there are enough.
var accumulatorOps = map[*ops.Def]maker{
	ops.ConditionalAccumulator: makeAccumulator(false), ops.ResourceConditionalAccumulator: makeAccumulator(false),
	ops.SparseConditionalAccumulator: makeAccumulator(true),
	ops.AccumulatorApplyGradient:     plain(onAccumulator(applyGradient)), ops.ResourceAccumulatorApplyGradient: plain(onAccumulator(applyGradient)),
	ops.SparseAccumulatorApplyGradient: applySparse,
	ops.AccumulatorTakeGradient:        plain(onAccumulator(takeGradient)), ops.ResourceAccumulatorTakeGradient: plain(onAccumulator(takeGradient)),
	ops.SparseAccumulatorTakeGradient: plain(onAccumulator(takeSparse)),
	ops.AccumulatorNumAccumulated:     plain(onAccumulator(countGradients)), ops.ResourceAccumulatorNumAccumulated: plain(onAccumulator(countGradients)),
	ops.AccumulatorSetGlobalStep: plain(onAccumulator(setStep)), ops.ResourceAccumulatorSetGlobalStep: plain(onAccumulator(setStep)),
}

// makeAccumulator returns the maker of a kernel that finds or creates an accumulator.
func makeAccumulator(sparse bool) maker {
	return func(s *site) (kernel, error) {
		spec := queue.AccumulatorSpec{Type: s.dtype("dtype", tensor.Invalid), Sparse: sparse, Mean: s.str("reduction_type", "MEAN") == "MEAN"}
		if spec.Type != tensor.Float32 && spec.Type != tensor.Float64 {
			return nil, fmt.Errorf("accumulators of %v %w", spec.Type, ErrUnsupported)
		}
		if shape, ok := s.node.Attrs["shape"].(graph.Shape); ok && !shape.UnknownRank {
			spec.Shape = s.componentShape(shape, true)
		}
		at := s.sharing("accumulator")
		return func(c call) error {
			found, err := at.find(c, func(_ string, room *queue.Room) shared {
				own := spec
				own.Room = room
				return queue.NewAccumulator(own)
			})
			if err != nil {
				return err
			}
			a := found.(*queue.Accumulator)
			c.out[0].Resource = a
			if has := a.Spec(); has.Sparse != sparse || has.Type != spec.Type {
				return fmt.Errorf("accumulator %q is of another kind or type, %v: expected %v", at.shared, has.Type, spec.Type)
			}
			return nil
		}, nil
	}
}

// onAccumulator returns a kernel whose input 0 is an accumulator.
func onAccumulator(f func(a *queue.Accumulator, c call) error) kernel {
	return func(c call) error {
		a, ok := c.in[0].Resource.(*queue.Accumulator)
		if !ok {
			return fmt.Errorf("expected an accumulator, got %T", c.in[0].Resource)
		}
		return f(a, c)
	}
}

// argument is integer with TensorFlow's error text.
func argument(what string, t *tensor.Tensor) (int, error) {
	if len(t.Shape) != 0 {
		return 0, fmt.Errorf("Argument %s must be scalar, but had bad shape %v", what, t.Shape)
	}
	return integer(what, t)
}

// ofKind fails if the accumulator is of the other kind.
func ofKind(a *queue.Accumulator, sparse bool) error {
	if a.Spec().Sparse != sparse {
		return fmt.Errorf("expected an accumulator of gradients that are sparse: %v, got one of the other kind", sparse)
	}
	return nil
}

func applyGradient(a *queue.Accumulator, c call) error {
	step, err := argument("local_step", c.t(1))
	if err != nil {
		return err
	}
	if err := ofKind(a, false); err != nil {
		return err
	}
	return a.Apply(int64(step), queue.Gradient{Values: c.t(2)})
}

func applySparse(s *site) (kernel, error) {
	known := s.boolean("has_known_shape", false)
	return onAccumulator(func(a *queue.Accumulator, c call) error {
		step, err := argument("local_step", c.t(1))
		if err != nil {
			return err
		}
		if err := ofKind(a, true); err != nil {
			return err
		}
		if c.t(2).DType != tensor.Int64 || len(c.t(2).Shape) != 1 {
			return fmt.Errorf("Input indices should be vector but received shape: %v", c.t(2).Shape)
		}
		g := queue.Gradient{Values: c.t(3), Sparse: true, Indices: tensor.Values[int64](c.t(2))}
		if known {
			if err := want("gradient_shape", c.t(4), tensor.Int64); err != nil {
				return err
			}
			g.Shape = append([]int64{}, tensor.Values[int64](c.t(4))...)
		}
		return a.Apply(int64(step), g)
	}), nil
}

func takeGradient(a *queue.Accumulator, c call) error {
	n, err := argument("num_required", c.t(1))
	if err != nil {
		return err
	}
	if err := ofKind(a, false); err != nil {
		return err
	}
	g, err := a.Take(c.ctx, n)
	if err == nil {
		c.set(0, g.Values)
	}
	return err
}

func takeSparse(a *queue.Accumulator, c call) error {
	n, err := argument("num_required", c.t(1))
	if err != nil {
		return err
	}
	if err := ofKind(a, true); err != nil {
		return err
	}
	g, err := a.Take(c.ctx, n)
	if err != nil {
		return err
	}
	indices, err := tensor.FromSlice(g.Indices, len(g.Indices))
	if err != nil {
		return err
	}
	shape, err := tensor.FromSlice(g.Shape, len(g.Shape))
	c.set(0, indices)
	c.set(1, g.Values)
	c.set(2, shape)
	return err
}

func countGradients(a *queue.Accumulator, c call) error {
	return c.scalarInt(0, tensor.Int32, a.Count())
}

func setStep(a *queue.Accumulator, c call) error {
	step, err := argument("new_global_step", c.t(1))
	if err == nil {
		a.SetStep(int64(step))
	}
	return err
}
