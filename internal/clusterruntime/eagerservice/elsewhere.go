package eagerservice

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
)

// elsewhere holds the parts of functions that a context has registered at other tasks. The zero value is empty. It is safe for concurrent use.
type elsewhere struct {
	mu    sync.Mutex
	names map[task]map[string]bool // whether a plan still needs the part
}

// place is a part and its task.
type place struct {
	task task
	name string
}

// add records a part. It is needed until the collector finds that nothing uses the plan, since calls may be running when the cache drops it.
func (e *elsewhere) add(at part, p *plan) {
	e.set(place{at.task, at.name}, true)
	runtime.AddCleanup(p, func(at place) { e.set(at, false) }, place{at.task, at.name})
}

func (e *elsewhere) set(at place, needed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.names == nil {
		e.names = map[task]map[string]bool{}
	}
	if e.names[at.task] == nil {
		e.names[at.task] = map[string]bool{}
	}
	e.names[at.task][at.name] = needed
}

// unneeded returns the parts at a task that no plan needs, each once.
func (e *elsewhere) unneeded(at task) (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, needed := range e.names[at] {
		if !needed {
			names = append(names, name)
			delete(e.names[at], name)
		}
	}
	return names
}

// endWithin is how long other tasks may take to forget the parts of a context that ends.
const endWithin = 2 * time.Second

// end makes all tasks forget all parts. The context of the client may end here and stay there.
func (e *elsewhere) end(id uint64, peers *peers) {
	e.mu.Lock()
	all := e.names
	e.names = nil
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	var done sync.WaitGroup
	for at, parts := range all {
		to, err := peers.eager(at)
		if err != nil {
			continue // the task is no longer in the cluster
		}
		names := make([]string, 0, len(parts))
		for name := range parts {
			names = append(names, name)
		}
		done.Go(func() { forget(ctx, to, id, names) })
	}
	done.Wait()
}

// forget removes parts at a task. A task that cannot be reached, or that has lost the context, has none.
func forget(ctx context.Context, to service.Caller, id uint64, names []string) {
	if len(names) == 0 {
		return
	}
	in := &rpcs.EnqueueRequest{ContextId: id}
	for _, name := range names {
		in.Queue = append(in.Queue, &rpcs.QueueItem{Item: &rpcs.QueueItem_RemoveFunction{RemoveFunction: &rpcs.RemoveFunctionOp{FunctionName: name}}})
	}
	_, _ = service.Ask[rpcs.EnqueueResponse](ctx, to, "Enqueue", in)
}
