package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// barrierOps collect the components of values by key. A take waits until values are complete.
var barrierOps = map[*ops.Def]maker{
	ops.Barrier: makeBarrier, ops.BarrierInsertMany: insertMany, ops.BarrierTakeMany: takeMany, ops.BarrierClose: closeBarrier,
	ops.BarrierReadySize: plain(onBarrier(func(b *queue.Barrier, c call) error { return c.scalarInt(0, tensor.Int32, b.Ready()) })),
	ops.BarrierIncompleteSize: plain(onBarrier(func(b *queue.Barrier, c call) error {
		return c.scalarInt(0, tensor.Int32, b.Incomplete())
	})),
}

// makeBarrier returns a kernel that finds or creates a barrier.
func makeBarrier(s *site) (kernel, error) {
	spec := queue.BarrierSpec{Types: list[tensor.DType](s, "component_types")}
	shapes := list[graph.Shape](s, "shapes")
	if len(shapes) != len(spec.Types) {
		return nil, fmt.Errorf("All of the component shapes must be specified")
	}
	if s.node.Int("capacity", -1) != -1 {
		return nil, fmt.Errorf("Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited capacity.")
	}
	for _, shape := range shapes {
		spec.Shapes = append(spec.Shapes, s.componentShape(shape, false))
	}
	at := s.sharing("barrier")
	return func(c call) error {
		found, err := at.find(c, func(name string, room *queue.Room) shared {
			own := spec
			own.Room = room
			return queue.NewBarrier(name, own)
		})
		if err != nil {
			return err
		}
		b := found.(*queue.Barrier)
		c.out[0].Resource = b
		return b.Spec().Same(b.Name(), spec)
	}, nil
}

// onBarrier returns a kernel whose input 0 is a barrier.
func onBarrier(f func(b *queue.Barrier, c call) error) kernel {
	return func(c call) error {
		b, ok := c.in[0].Resource.(*queue.Barrier)
		if !ok {
			return fmt.Errorf("expected a barrier, got %T", c.in[0].Resource)
		}
		return f(b, c)
	}
}

func insertMany(s *site) (kernel, error) {
	i := s.node.Int("component_index", -1)
	return onBarrier(func(b *queue.Barrier, c call) error {
		keys, values := c.t(1), c.t(2)
		spec := b.Spec()
		switch {
		case i < 0 || i >= len(spec.Types):
			return fmt.Errorf("The component ID is out of range %d > num_components (= %d)", i, len(spec.Types))
		case keys.DType != tensor.String || values.DType != spec.Types[i]:
			return fmt.Errorf("expected strings and values of type %v, got %v and %v", spec.Types[i], keys.DType, values.DType)
		case len(keys.Strings) > 0 && values.Len() == 0:
			return fmt.Errorf("Tensors with no elements are not supported %s: received shape %s", b.Name(), shapeText(values.Shape))
		}
		n, shape := len(keys.Strings), values.Shape
		if len(shape) == 0 || shape[0] != n {
			return fmt.Errorf("expected a value for each of %d keys, got values of shape %v", n, values.Shape)
		}
		if n > maxBatch {
			return fmt.Errorf("%d keys at once: expected at most %d: %w", n, maxBatch, ErrLimit)
		}
		each, width := make([]*tensor.Tensor, n), product(shape[1:])
		for k := range each {
			each[k] = rows(values, shape[1:], k*width, width).Clone() // copied, so that the rest can be freed
		}
		return b.Insert(c.ctx, i, keys.Strings, each)
	}), nil
}

func takeMany(s *site) (kernel, error) {
	types := components(s)
	s.outputs += 2
	small := s.boolean("allow_small_batch", false)
	return onBarrier(func(b *queue.Barrier, c call) error {
		if len(c.t(1).Shape) != 0 {
			return fmt.Errorf("num_elements must be a scalar.")
		}
		n, err := integer("num_elements", c.t(1))
		if err != nil {
			return err
		}
		if n < 0 {
			return fmt.Errorf("DequeueManyOp requested %d < 0 elements", n)
		}
		spec := b.Taken()
		if len(types) != len(spec.Types)-2 {
			return fmt.Errorf("expected the components %v, which barrier '%s' has, got %v", spec.Types[2:], b.Name(), types)
		}
		if err := c.fitsMany(spec, n); err != nil {
			return err
		}
		values, err := b.Take(c.ctx, n, small)
		if err != nil {
			return err
		}
		return c.stackElements(spec, values)
	}), nil
}

func closeBarrier(s *site) (kernel, error) {
	cancel := s.boolean("cancel_pending_enqueues", false)
	return onBarrier(func(b *queue.Barrier, c call) error { return b.Close(c.ctx, cancel) }), nil
}
