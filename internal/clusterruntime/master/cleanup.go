package master

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
)

// cleanupPause is how long the end of a step waits for another step to be sent with.
const cleanupPause = time.Second

// cleaner tells a worker which steps of a session are over. No step waits for that. Workers that announce support get it with the next
// step, or after cleanupPause; others by a call.
type cleaner struct {
	worker service.Caller
	reads  atomic.Bool // supported: sent with the next step

	mu      sync.Mutex
	over    []uint64 // not sent yet
	later   *time.Timer
	calling bool
}

// add records that a step is over. With now, the worker is called at once, since something may be waiting in the step.
func (p *cleaner) add(step int64, now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = append(p.over, uint64(step))
	switch {
	case now || !p.reads.Load():
		p.call()
	case p.later == nil:
		p.later = time.AfterFunc(cleanupPause, p.flush)
	}
}

// take returns the steps to send with the next step.
func (p *cleaner) take() []uint64 {
	if !p.reads.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	over := p.over
	p.over = nil
	return over
}

// again returns the result of take if its step may not have reached the worker.
func (p *cleaner) again(over []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = append(p.over, over...)
}

// flush sends the steps that were not sent with another step.
func (p *cleaner) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.later = nil
	p.call()
}

// call makes sure that a goroutine calls the worker. The mutex is held.
func (p *cleaner) call() {
	if !p.calling && len(p.over) > 0 {
		p.calling = true
		go p.calls()
	}
}

// calls calls the worker for each step.
func (p *cleaner) calls() {
	for {
		p.mu.Lock()
		over := slices.Clone(p.over)
		p.over = p.over[:0]
		p.calling = len(over) > 0
		p.mu.Unlock()
		if len(over) == 0 {
			return
		}
		p.cleanup(over)
	}
}

// cleanup calls the worker for steps. It does not repeat this if there is no answer: the worker ends such steps when it needs their room.
func (p *cleaner) cleanup(over []uint64) {
	for _, step := range over {
		ctx, cancel := afterwards()
		_, err := service.Ask[rpcs.CleanupGraphResponse](ctx, p.worker, "CleanupGraph", &rpcs.CleanupGraphRequest{StepId: int64(step)})
		cancel()
		if err != nil {
			return
		}
	}
}

// cleanerOf returns the cleaner of a task's worker.
func (s *session) cleanerOf(t Task, w service.Caller) *cleaner {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.cleaners[t]
	if p == nil {
		p = &cleaner{worker: w}
		s.cleaners[t] = p
	}
	return p
}
