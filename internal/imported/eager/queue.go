package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// queueOps fill and empty queues. They may wait: they end with the context of their run.
var queueOps = map[*ops.Def]maker{
	ops.FIFOQueue: makeQueue(queue.FIFO), ops.FIFOQueueV2: makeQueue(queue.FIFO),
	ops.PaddingFIFOQueue: makeQueue(queue.Padding), ops.PaddingFIFOQueueV2: makeQueue(queue.Padding),
	ops.RandomShuffleQueue: makeQueue(queue.Shuffle), ops.RandomShuffleQueueV2: makeQueue(queue.Shuffle),
	ops.PriorityQueue: makeQueue(queue.Priority), ops.PriorityQueueV2: makeQueue(queue.Priority),
	ops.QueueEnqueue: enqueue, ops.QueueEnqueueV2: enqueue,
	ops.QueueEnqueueMany: enqueueMany, ops.QueueEnqueueManyV2: enqueueMany,
	ops.QueueDequeue: dequeue, ops.QueueDequeueV2: dequeue,
	ops.QueueDequeueMany: dequeueMany(false), ops.QueueDequeueManyV2: dequeueMany(false),
	ops.QueueDequeueUpTo: dequeueMany(true), ops.QueueDequeueUpToV2: dequeueMany(true),
	ops.QueueClose: closeQueue, ops.QueueCloseV2: closeQueue,
	ops.QueueSize:     plain(onQueue(func(q *queue.Queue, c call) error { return c.scalarInt(0, tensor.Int32, q.Size()) })),
	ops.QueueSizeV2:   plain(onQueue(func(q *queue.Queue, c call) error { return c.scalarInt(0, tensor.Int32, q.Size()) })),
	ops.QueueIsClosed: plain(onQueue(isClosed)), ops.QueueIsClosedV2: plain(onQueue(isClosed)),
}

// onQueue returns a kernel whose input 0 is a queue.
func onQueue(f func(q *queue.Queue, c call) error) kernel {
	return func(c call) error {
		q, ok := c.in[0].Resource.(*queue.Queue)
		if !ok {
			return fmt.Errorf("expected a queue, got %T", c.in[0].Resource)
		}
		return f(q, c)
	}
}

func isClosed(q *queue.Queue, c call) error {
	c.set(0, tensor.Scalar(q.Closed()))
	return nil
}

func closeQueue(s *site) (kernel, error) {
	cancel := s.boolean("cancel_pending_enqueues", false)
	return onQueue(func(q *queue.Queue, c call) error { return q.Close(c.ctx, cancel) }), nil
}

// unlimited refuses timeouts, as TensorFlow does.
func (s *site) unlimited() {
	if s.node.Int("timeout_ms", -1) != -1 {
		s.fail("Timeout not supported yet.")
	}
}

func enqueue(s *site) (kernel, error) {
	s.unlimited()
	return onQueue(func(q *queue.Queue, c call) error { return q.Enqueue(c.ctx, element(c.in[1:])) }), nil
}

// element returns values as an element of a queue.
func element(values []Value) queue.Element {
	e := make(queue.Element, len(values))
	for i, v := range values {
		e[i] = v.T
	}
	return e
}

func enqueueMany(s *site) (kernel, error) {
	s.unlimited()
	return onQueue(func(q *queue.Queue, c call) error {
		elements, err := c.elementsOf(q.Spec(), element(c.in[1:]))
		if err != nil {
			return err
		}
		return q.Enqueue(c.ctx, elements...)
	}), nil
}

// maxBatch bounds the number of elements that a step enqueues at once.
const maxBatch = 1 << 24

// rowCost is about the size of a tensor without its bytes.
const rowCost = 128

// elementsOf returns the elements stacked along the first dimension. They are paid for until they are in a queue, which counts them itself.
func (c call) elementsOf(s queue.Spec, e queue.Element) ([]queue.Element, error) {
	if err := s.CheckMany(e); err != nil {
		return nil, err
	}
	if n := e[0].Shape[0]; n > maxBatch {
		return nil, fmt.Errorf("%d elements at once: expected at most %d: %w", n, maxBatch, ErrLimit)
	}
	need := 0
	for _, t := range e {
		need += sizeOf(t) + t.Shape[0]*rowCost
	}
	if err := c.pay(need); err != nil {
		return nil, err
	}
	all := make([]queue.Element, e[0].Shape[0])
	for k := range all {
		all[k] = make(queue.Element, len(e))
		for i, t := range e {
			n := product(t.Shape[1:])
			all[k][i] = rows(t, t.Shape[1:], k*n, n).Clone() // so that the rest of t can be freed
		}
	}
	return all, nil
}

// components returns the types of the outputs of a node that dequeues.
func components(s *site) []tensor.DType {
	s.unlimited()
	types := list[tensor.DType](s, "component_types")
	s.outputs = len(types)
	return types
}

// sameTypes fails if a node dequeues other types than the queue holds.
func sameTypes(q *queue.Queue, types []tensor.DType) error {
	if !slices.Equal(q.Spec().Types, types) {
		return fmt.Errorf("expected components of the types %v, which queue '%s' has, got %v", q.Spec().Types, q.Name(), types)
	}
	return nil
}

func dequeue(s *site) (kernel, error) {
	types := components(s)
	return onQueue(func(q *queue.Queue, c call) error {
		if err := sameTypes(q, types); err != nil {
			return err
		}
		elements, err := q.Dequeue(c.ctx, 1, false)
		if err != nil {
			return err
		}
		for i, t := range elements[0] {
			c.set(i, t)
		}
		return nil
	}), nil
}

// dequeueMany stacks the elements that it dequeues.
func dequeueMany(upTo bool) maker {
	return func(s *site) (kernel, error) {
		types := components(s)
		name := map[bool]string{false: "DequeueManyOp", true: "DequeueUpToOp"}[upTo]
		return onQueue(func(q *queue.Queue, c call) error {
			if err := sameTypes(q, types); err != nil {
				return err
			}
			n, err := integer("n", c.t(1))
			if err != nil {
				return err
			}
			if n < 0 {
				return fmt.Errorf("%s requested %d < 0 elements", name, n)
			}
			if err := c.fitsMany(q.Spec(), n); err != nil {
				return err
			}
			if q.Spec().Shapes == nil {
				return withoutShapes(q.Spec().Kind)
			}
			elements, err := q.Dequeue(c.ctx, n, upTo)
			if err != nil {
				return err
			}
			return c.stackElements(q.Spec(), elements)
		}), nil
	}
}
