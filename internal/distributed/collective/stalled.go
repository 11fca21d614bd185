package collective

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/internal/platform/moment"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	whereMethod = "/" + serviceName + "/Where"
	// lookout is how often a group checks whether its call waits for others.
	lookout = time.Second
	// whereTime is how long a worker may take to report its progress.
	whereTime = 2 * time.Second
)

// whereabouts is the progress of a worker in its calls.
type whereabouts struct {
	call    atomic.Uint64 // the latest call begun
	missing atomic.Int64  // tensors of it without a value
	since   moment.Moment // when all had one; none: it does not wait for the others
}

// begin records a call with tensors whose values come later.
func (w *whereabouts) begin(call uint64, tensors int) {
	w.since.Clear()
	w.call.Store(call)
	w.missing.Store(int64(tensors))
	if tensors == 0 {
		w.since.Note()
	}
}

// ready records that a tensor has its value.
func (w *whereabouts) ready() {
	if w.missing.Add(-1) == 0 {
		w.since.Note()
	}
}

// end records that the call has ended.
func (w *whereabouts) end() { w.since.Clear() }

// brought is the latest call to which the worker has contributed everything.
func (w *whereabouts) brought() uint64 {
	call := w.call.Load()
	if w.missing.Load() > 0 {
		return call - 1
	}
	return call
}

// waiting returns the call in which the worker waits for the others, and since when.
func (w *whereabouts) waiting() (call uint64, since time.Time, ok bool) {
	since, ok = w.since.Time()
	return w.call.Load(), since, ok
}

// lookOut logs for which workers calls wait, until the group ends.
func (g *Group) lookOut(c Config) {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	g.workers.Go(func() {
		select {
		case <-g.done:
			cancel()
		case <-ctx.Done():
		}
	})
	tick := time.NewTicker(lookout)
	defer tick.Stop()
	var wait waiting.Wait
	for latest := uint64(0); ; {
		select {
		case <-tick.C:
		case <-g.done:
			return
		}
		call, since, ok := g.at.waiting()
		if !ok {
			continue
		}
		if call != latest {
			latest, wait = call, waiting.Begin(since)
		}
		wait.Report(c.Log, func() []waiting.Target {
			return c.Describe(ctx, g.stalled(ctx, c.Endpoint.client, call), "its part of the step has not come")
		})
	}
}

// stalled returns the workers that have not contributed everything to a call, or do not answer.
func (g *Group) stalled(ctx context.Context, client cluster.Client, call uint64) []cluster.Task {
	ctx, cancel := context.WithTimeout(ctx, whereTime)
	defer cancel()
	behind := make([]bool, g.size)
	var asked sync.WaitGroup
	for r := range g.size {
		if r != g.rank {
			asked.Go(func() {
				at, err := g.whereIs(ctx, client, r)
				behind[r] = err != nil || at < call
			})
		}
	}
	asked.Wait()
	if now, _, ok := g.at.waiting(); !ok || now != call {
		return nil // the call has ended
	}
	var out []cluster.Task
	for r, task := range g.tasks {
		if behind[r] {
			out = append(out, task)
		}
	}
	return out
}

// whereIs asks a worker for the latest call to which it has contributed everything.
func (g *Group) whereIs(ctx context.Context, client cluster.Client, rank int) (uint64, error) {
	f, err := client.Call(ctx, g.tasks[rank], whereMethod, &cluster.Frame{Header: encodeHeader(nil, g.header(hello), &wire.GroupText{Text: g.name})})
	if err != nil {
		return 0, err
	}
	defer f.Release()
	var answer wire.GroupHeader
	err = decodeHeader(f.Header, &answer)
	if err == nil && answer.Rank != uint64(rank) {
		err = fmt.Errorf("%v answers as rank %d, expected %d", g.tasks[rank], answer.Rank, rank)
	}
	return answer.Call, err
}

// where answers a waiting worker.
func (e *Endpoint) where(_ context.Context, req *cluster.Frame) (*cluster.Frame, error) {
	var h wire.GroupHeader
	if err := decodeHeader(req.Header, &h); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	name := textOf(req.Header).Text
	e.mu.Lock()
	f := e.groups[name]
	e.mu.Unlock()
	if f == nil || !f.formed(&h) {
		return nil, status.Errorf(codes.Aborted, "no group %q of generation %d is here", name, h.Generation)
	}
	answer := f.header(hello)
	answer.Call = f.at.brought()
	return &cluster.Frame{Header: wire.Encode(answer)}, nil
}

// formed reports whether a message is of this group, which has been formed.
func (f *forming) formed(h *wire.GroupHeader) bool {
	select {
	case <-f.known:
		return h.Group == f.id
	default:
		return false
	}
}
