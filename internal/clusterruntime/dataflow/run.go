package dataflow

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/tensor"
)

// Rendezvous is where _Send and _Recv nodes meet the nodes of other devices.
type Rendezvous interface {
	Send(key rendezvous.Key, item rendezvous.Item) error
	Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error)
}

// Step is what one run of a Program needs.
type Step struct {
	Env        *eager.Env
	Rendezvous Rendezvous
	Parallel   int           // nodes at the same time, at least one; nodes that wait do not count
	Args       []eager.Value // what _Arg nodes give
	Results    []eager.Value // what _Retval nodes take; the values of dead nodes stay as they are
}

// token is what an edge carries: a value, or nothing where it is dead.
type token struct {
	value eager.Value
	live  bool
}

// task is a node that is to run in an iteration.
type task struct {
	node int32
	at   *iteration
	dead bool
}

// run is one run of a Program. Its mutex guards all that follows it.
type run struct {
	p      *Program
	step   Step
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	err     error
	left    int // tasks that are ready or run
	ready   []task
	workers int
	done    chan struct{}
}

// Run runs the program once. It returns when no node runs any more: with the first error of a node, or that of ctx.
func (p *Program) Run(ctx context.Context, s Step) error {
	r := &run{p: p, step: s, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	root := newFrame(p, 0, nil)
	first := root.begin()
	tasks := make([]task, len(p.roots))
	for k, i := range p.roots {
		tasks[k] = task{node: i, at: first}
	}
	first.busy = len(tasks)
	if len(tasks) == 0 {
		return ctx.Err()
	}
	r.mu.Lock()
	r.add(tasks)
	r.mu.Unlock()
	<-r.done
	if r.err == nil {
		r.err = ctx.Err()
	}
	return r.err
}

// add makes tasks ready and sees that somebody runs them. The mutex is held.
func (r *run) add(tasks []task) {
	r.left += len(tasks)
	for _, t := range tasks {
		if r.p.nodes[t.node].blocks && !t.dead {
			go r.alone(t)
			continue
		}
		r.ready = append(r.ready, t)
	}
	for len(r.ready) > r.workers && r.workers < max(r.step.Parallel, 1) {
		r.workers++
		go r.work()
	}
}

// work runs tasks until none is ready.
func (r *run) work() {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := &room{}
	for len(r.ready) > 0 {
		t := r.ready[0]
		r.ready = r.ready[1:]
		r.mu.Unlock()
		out, err := r.observed(t, room)
		r.mu.Lock()
		r.finish(t, out, err)
	}
	r.workers--
}

// alone runs one task that may wait.
func (r *run) alone(t task) {
	out, err := r.observed(t, &room{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(t, out, err)
}

// fail ends the run with its first error. The mutex is held.
func (r *run) fail(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.cancel(err)
	}
}

// finish passes on what a task made. The mutex is held.
func (r *run) finish(t task, out []token, err error) {
	r.fail(err)
	if r.err == nil {
		ready, err := r.pass(t, out)
		r.fail(err)
		r.add(ready)
	}
	if r.left--; r.left == 0 {
		close(r.done)
	}
}

// room is the memory that the tasks of a worker use in turn.
type room struct {
	in, out []eager.Value
	tokens  []token
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// execute runs a node. It takes its inputs out of the iteration, where nothing else reads them.
func (r *run) execute(t task, m *room) (out []token, err error) {
	defer func() {
		if p := recover(); p != nil { // in a goroutine of its own it would end the process
			err = fault.New("node "+r.p.nodes[t.node].source.Name, p)
			fault.Log(nil, err)
		}
	}()
	n := &r.p.nodes[t.node]
	in := t.at.inputs[n.firstInput : n.firstInput+n.inputs]
	defer clear(in)
	m.tokens = grown(m.tokens, n.outputs)
	if t.dead && n.role != send {
		return m.tokens, nil
	}
	if err := r.ctx.Err(); err != nil {
		return nil, context.Cause(r.ctx)
	}
	for i := range n.reads {
		if n.reads[i] && in[i].live {
			if err := in[i].read(); err != nil {
				return nil, &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
			}
		}
	}
	if n.role != ordinary {
		return m.tokens, r.control(t, n, in, m.tokens)
	}
	m.in, m.out = grown(m.in, len(in)), grown(m.out, n.outputs)
	for i := range in {
		m.in[i] = in[i].value
	}
	if err := n.kernel(r.ctx, r.step.Env, m.in, m.out); err != nil {
		return nil, err
	}
	for i := range m.out {
		m.tokens[i] = token{m.out[i], true}
	}
	return m.tokens, nil
}

// read makes a reference the value that its variable has now.
func (t *token) read() error {
	v, ok := t.value.Resource.(eager.Variable)
	if !ok {
		return nil // it was a value that something else made a reference
	}
	now, err := v.Load()
	t.value = eager.Value{T: now}
	return err
}

// control runs a node that is not a kernel.
func (r *run) control(t task, n *node, in, out []token) error {
	switch n.role {
	case branch:
		taken, err := n.taken(in[1].value.T)
		if err != nil {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: err}
		}
		out[taken] = in[0]
	case merge:
		for i := range in {
			if in[i].live {
				out[0], out[1] = in[i], token{eager.Value{T: tensor.Scalar(int32(i))}, true}
				break
			}
		}
	case send:
		item := rendezvous.Item{Dead: t.dead}
		if !t.dead {
			if item.Tensor = in[0].value.T; item.Tensor == nil {
				return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("expected a tensor, got %T: a resource cannot leave its device", in[0].value.Resource)}
			}
		}
		return r.step.Rendezvous.Send(n.key.in(t.at), item)
	case recv:
		item, err := r.step.Rendezvous.Recv(r.ctx, n.key.in(t.at))
		if err != nil {
			return err
		}
		if want, _ := n.source.Attrs["tensor_type"].(tensor.DType); !item.Dead && item.Tensor.DType != want {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("expected a tensor of type %v, got %v", want, item.Tensor.DType)}
		}
		out[0] = token{eager.Value{T: item.Tensor}, !item.Dead}
	case arg:
		if n.number < 0 || n.number >= len(r.step.Args) {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("there is no argument %d: the step has %d", n.number, len(r.step.Args))}
		}
		out[0] = token{r.step.Args[n.number], true}
	case retval:
		if n.number < 0 || n.number >= len(r.step.Results) {
			return &eager.Error{Node: n.source.Name, Op: n.source.Op, Err: fmt.Errorf("there is no result %d: the step has %d", n.number, len(r.step.Results))}
		}
		r.step.Results[n.number] = in[0].value
	case trigger:
	default:
		out[0] = in[0]
	}
	return nil
}

// taken returns the output that a Switch gives its value to. A number that is no branch's means the last one.
func (n *node) taken(pred *tensor.Tensor) (int, error) {
	if n.source.Op != "_SwitchN" {
		if pred == nil || pred.Len() != 1 || len(pred.Bytes) != 1 {
			return 0, fmt.Errorf("expected a boolean scalar as predicate")
		}
		return int(pred.Bytes[0] & 1), nil
	}
	if pred == nil || pred.Len() != 1 || pred.DType != tensor.Int32 || n.outputs == 0 {
		return 0, fmt.Errorf("expected branches, and the number of one as an int32 scalar")
	}
	i := int(tensor.Values[int32](pred)[0])
	if i < 0 || i >= n.outputs {
		i = n.outputs - 1
	}
	return i, nil
}
