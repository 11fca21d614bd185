package dataflow

import (
	"context"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// Rendezvous connects _Send and _Recv nodes with the nodes of other devices.
type Rendezvous interface {
	Send(key rendezvous.Key, item rendezvous.Item) error
	Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error)
}

// Taker is a Rendezvous that may already have an item, so that taking it needs no wait.
type Taker interface {
	Rendezvous
	Take(key rendezvous.Key) (rendezvous.Item, bool)
}

// Step is the input of one run of a Program.
type Step struct {
	Env        *eager.Env
	Rendezvous Rendezvous
	Parallel   int           // concurrent nodes, at least one; waiting nodes do not count
	Args       []eager.Value // outputs of _Arg nodes
	Results    []eager.Value // inputs of _Retval nodes; dead nodes leave their values unchanged
}

// token is the content of an edge: a value, or nothing if it is dead.
type token struct {
	value eager.Value
	live  bool
}

// task is a node to run in an iteration.
type task struct {
	node int32
	at   *iteration
	dead bool
}

// run is one run of a Program. Its mutex guards the fields after it.
type run struct {
	p      *Program
	step   Step
	ctx    context.Context
	number uint32 // of the program's runs
	room   room   // of the goroutine that called Run
	root   *iteration

	mu      sync.Mutex
	err     error
	cheap   queue // ready tasks
	costly  queue
	workers int // goroutines that run tasks
	coming  int // workers that have not taken a task yet
	waiting int // goroutines with a task that waits
	passed  []task

	stoppable context.Context // for nodes that wait or take long; nil until there is one. It ends with the first error
	cancel    context.CancelCauseFunc
	done      chan struct{} // has room for one element, for the end of the last goroutine
}

// Run runs the program once. It returns when no more nodes run, with the first error of a node, or the error of ctx. Nodes run in
// the caller's goroutine, and in others if there is enough to do.
func (p *Program) Run(ctx context.Context, s Step) error {
	if len(p.roots) == 0 {
		return ctx.Err()
	}
	r := p.start(ctx, s)
	r.mu.Lock()
	r.workers++
	r.launch()
	r.work(&r.room)
	for r.workers+r.waiting > 0 {
		r.mu.Unlock()
		<-r.done
		r.mu.Lock()
	}
	err := r.err
	r.mu.Unlock()
	if r.cancel != nil {
		r.cancel(nil)
	}
	if err == nil {
		p.end(r)
		err = ctx.Err()
	}
	return err
}

// start returns a run, which reuses the memory of an earlier one.
func (p *Program) start(ctx context.Context, s Step) *run {
	r, ok := p.idle.Get().(*run)
	if !ok {
		r = &run{p: p, done: make(chan struct{}, 1), root: newFrame(p, 0, nil).begin()}
	}
	r.step, r.ctx, r.number = s, ctx, p.runs.Add(1)
	return r
}

// launch makes the nodes without inputs ready. The mutex is held.
func (r *run) launch() {
	for _, i := range r.p.roots {
		r.add(task{node: i, at: r.root})
	}
	r.root.busy = len(r.p.roots)
	r.share(true)
}

// end keeps the memory of a run for another one. All nodes outside of loops have run, and taken their inputs.
func (p *Program) end(r *run) {
	r.step, r.ctx, r.stoppable, r.cancel = Step{}, nil, nil, nil
	r.root.restart()
	r.room.forget()
	clear(r.passed[:cap(r.passed)])
	p.idle.Put(r)
}
