package distribute

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
)

// hearing records when the workers that this one asks, in an elastic job, answered last.
type hearing struct {
	job  *Job
	mu   sync.Mutex
	last map[int]time.Time // by rank
}

// begin forgets all ranks except the given ones, which have just answered.
func (h *hearing) begin(ranks []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = map[int]time.Time{}
	for _, rank := range ranks {
		h.last[rank] = time.Now()
	}
}

// forget forgets when a rank answered.
func (h *hearing) forget(rank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.last, rank)
}

// left returns how much of the peer timeout a rank has left to answer.
func (h *hearing) left(rank int) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[int]time.Time{}
	}
	if h.last[rank].IsZero() {
		h.last[rank] = time.Now()
	}
	return h.job.silence() - time.Since(h.last[rank])
}

const (
	// leastProbe is how long a worker that was silent for the peer timeout may take to answer.
	leastProbe = 250 * time.Millisecond
	// mostProbe is how long any other worker may take before it is asked again.
	mostProbe = time.Second
)

// errUnanswered ends a probe.
var errUnanswered = errors.New("no answer")

// silent asks a rank for a sign of life, and reports whether it has not answered for the peer timeout.
func (h *hearing) silent(ctx context.Context, rank int) bool {
	began := time.Now()
	limited, cancel := context.WithCancelCause(ctx) // not a deadline: after one the node asks once more
	defer cancel(nil)
	limit := time.AfterFunc(min(max(h.left(rank), leastProbe), mostProbe), func() { cancel(errUnanswered) })
	defer limit.Stop()
	if h.job.node.Probe(limited, h.job.workers[rank]) == "" {
		h.mu.Lock()
		h.last[rank] = began
		h.mu.Unlock()
		return false
	}
	return ctx.Err() == nil && h.left(rank) <= 0
}

// gone reports whether a rank has ended, or has not answered for the peer timeout.
func (h *hearing) gone(ctx context.Context, rank int) bool {
	return h.left(rank) > 0 && h.job.node.Gone(ctx, h.job.workers[rank]) || h.silent(ctx, rank)
}

// anySilent asks all ranks at the same time, and returns the first silent one.
func (h *hearing) anySilent(ctx context.Context, ranks []int) (cluster.Task, bool) {
	silent := make([]bool, len(ranks))
	var asked sync.WaitGroup
	for i, rank := range ranks {
		asked.Go(func() { silent[i] = h.silent(ctx, rank) })
	}
	asked.Wait()
	for i, rank := range ranks {
		if silent[i] {
			return h.job.workers[rank], true
		}
	}
	return cluster.Task{}, false
}

// tick is how often a worker asks, so that a loss is noticed soon after the peer timeout.
func (h *hearing) tick() time.Duration { return min(time.Second, h.job.silence()/8) }

// listen ends a ring as soon as one of its workers is silent. The leader asks all others, and they ask the leader.
// Connections alone would notice a stopped process later than short timeouts demand.
func (e *elastic) listen(g *collective.Group) {
	var ranks []int
	for _, rank := range e.ranks {
		if rank != e.job.rank && (e.job.leads() || e.job.workers[rank] == e.job.leading()) {
			ranks = append(ranks, rank)
		}
	}
	e.hearing.begin(ranks)
	ctx, end := context.WithCancel(context.Background())
	e.background.Go(func() {
		<-g.Done()
		end()
	})
	e.background.Go(func() {
		tick := time.NewTicker(e.hearing.tick())
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			why := e.deposed()
			if t, ok := e.hearing.anySilent(ctx, ranks); ok && why == nil {
				why = fmt.Errorf("%v has not answered for %v: %w", t, e.job.silence(), cluster.ErrPeerLost)
			}
			if why != nil {
				_ = g.Abort(why) // the step in progress reports it
				return
			}
		}
	})
}

// tend calls the successor's Tend until the strategy is closed.
func (e *elastic) tend(s Successor) {
	ctx, end := context.WithCancel(context.Background())
	e.end = end
	e.background.Go(func() {
		tick := time.NewTicker(e.hearing.tick())
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := s.Tend(); err != nil {
				e.lost.Store(&err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// deposed returns why this worker has stopped being the chief, nil if it is the chief or never was.
func (e *elastic) deposed() error {
	if err := e.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// close ends what runs in the background, after the ring.
func (e *elastic) close() {
	if e.end != nil {
		e.end()
	}
	e.background.Wait()
}
