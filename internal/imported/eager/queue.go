package eager

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// queueOps make, fill and empty queues. They may wait: they end with the context of their run.
var queueOps = map[*ops.Def]maker{
	ops.FIFOQueue: makeQueue, ops.FIFOQueueV2: makeQueue,
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

// queueKey is where a queue is found.
type queueKey struct{ container, session, name string }

// Forget forgets what belongs to a session alone.
func (r *Resources) Forget(session string) {
	var ended []lasting
	defer func() { closeAll(ended) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	ended = r.things.end(func(k queueKey) bool { return session != "" && k.session == session })
	maps.DeleteFunc(r.queues, func(k queueKey, _ *queue.Queue) bool { return session != "" && k.session == session })
}

// queueOf returns the queue of a node, which make names where there is none. A queue without a shared name belongs to its session.
func (r *Resources) queueOf(e *Env, container, shared, node string, make func(name string) *queue.Queue) *queue.Queue {
	key := queueKey{container, e.Session, node}
	if shared != "" {
		key = queueKey{container: container, name: shared}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[key]
	if q == nil {
		if shared == "" {
			shared = fmt.Sprintf("_%d_%s", r.unnamed, node)
			r.unnamed++
		}
		q = make(shared)
		r.queues[key] = q
	}
	return q
}

func makeQueue(s *site) (kernel, error) {
	spec := queue.Spec{Types: list[tensor.DType](s, "component_types"), Capacity: s.node.Int("capacity", -1), Bytes: DefaultLimit}
	if spec.Capacity < 0 {
		spec.Capacity = math.MaxInt32
	}
	if shapes := list[graph.Shape](s, "shapes"); len(shapes) > 0 {
		if len(shapes) != len(spec.Types) {
			s.fail("Different number of component types.  Types: %v, Shapes: %v", spec.Types, shapes)
		}
		for _, shape := range shapes {
			if !shape.Known() {
				s.fail("attribute shapes: %v: expected known sizes", shape)
				break
			}
			spec.Shapes = append(spec.Shapes, shape.At(1))
			if _, err := elements(shape.At(1)); err != nil {
				return nil, err
			}
		}
	}
	if len(spec.Types) == 0 {
		s.fail("attribute component_types: expected a type")
	}
	for _, d := range spec.Types {
		if d != tensor.String && d.Size() == 0 {
			s.fail("queues of %v %w", d, ErrUnsupported)
		}
	}
	container, shared, node := s.str("container", ""), s.str("shared_name", ""), s.node.Name
	return func(c call) error {
		if c.env == nil || c.env.Resources == nil {
			return errors.New("queues need Env.Resources")
		}
		q := c.env.Resources.queueOf(c.env, container, shared, node, func(name string) *queue.Queue { return queue.New(name, spec) })
		c.out[0].Resource = q
		return q.Spec().Same(q.Name(), spec)
	}, nil
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

// element is what the values are in a queue.
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
		elements, err := unstacked(element(c.in[1:]))
		if err != nil {
			return err
		}
		return q.Enqueue(c.ctx, elements...)
	}), nil
}

// maxBatch bounds the elements that a step puts in at once.
const maxBatch = 1 << 24

// unstacked returns the elements that are stacked in the first dimension.
func unstacked(e queue.Element) ([]queue.Element, error) {
	for i, t := range e {
		switch {
		case len(t.Shape) == 0:
			return nil, fmt.Errorf("Component %d: expected a tensor of at least one dimension, got a scalar", i)
		case t.Shape[0] != e[0].Shape[0]:
			return nil, fmt.Errorf("All input tensors must have the same size in the 0th dimension. Component %d has %d, and should have %d", i, t.Shape[0], e[0].Shape[0])
		case t.Shape[0] > maxBatch:
			return nil, fmt.Errorf("%d elements at once: expected at most %d: %w", t.Shape[0], maxBatch, ErrLimit)
		}
	}
	if len(e) == 0 {
		return nil, errors.New("expected a component")
	}
	all := make([]queue.Element, e[0].Shape[0])
	for k := range all {
		all[k] = make(queue.Element, len(e))
		for i, t := range e {
			n := product(t.Shape[1:])
			all[k][i] = rows(t, t.Shape[1:], k*n, n)
		}
	}
	return all, nil
}

// components sets the outputs of a node that takes elements out.
func components(s *site) []tensor.DType {
	s.unlimited()
	types := list[tensor.DType](s, "component_types")
	s.outputs = len(types)
	return types
}

// sameTypes fails for a node that takes other types out of a queue than this holds.
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

// dequeueMany stacks the elements.
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
				return errors.New("FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.")
			}
			elements, err := q.Dequeue(c.ctx, n, upTo)
			if err != nil {
				return err
			}
			return c.stackElements(q.Spec(), elements)
		}), nil
	}
}

// fitsMany fails where n elements are more than a tensor may have, before any is taken out.
func (c call) fitsMany(s queue.Spec, n int) error {
	most := maxBatch
	for i, shape := range s.Shapes {
		if each := product(shape) * max(s.Types[i].Size(), 1); each > 0 {
			most = min(most, c.env.limit()/each)
		}
	}
	if n > most {
		return fmt.Errorf("%d elements at once: expected at most %d: %w", n, most, ErrLimit)
	}
	return nil
}

// stackElements sets the outputs to the components of elements, with a new first dimension.
func (c call) stackElements(s queue.Spec, elements []queue.Element) error {
	for i, shape := range s.Shapes {
		width := product(shape)
		out, err := c.output(i, s.Types[i], slices.Concat([]int{len(elements)}, shape)...)
		if err != nil {
			return err
		}
		for k, e := range elements {
			copyCells(out, k*width, e[i], 0, width)
		}
	}
	return nil
}
