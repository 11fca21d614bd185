package session

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// spareShare limits a program with room for more rows than asked for: it may hold 1/spareShare of Options.Limit.
const spareShare = 4

var errNoSpare = errors.New("no memory for further rows")

var errNotLinear = errors.New("sizes are not linear in the batch")

// programs are the programs of one graph: as many as run at the same time.
type programs struct {
	s    *Session
	g    *graph.Graph
	spec engine.Spec
	room chan struct{} // one entry for each running program

	mu     sync.Mutex
	idle   []*instance
	closed bool
}

// instance is one program with its feeds.
type instance struct {
	program *engine.Program
	feeds   []*tensor.Tensor
	held    int64     // bytes, counted while it is idle
	since   time.Time // when it became idle
}

// newPrograms compiles the first program during a run, which pays for its memory once it takes the program.
func newPrograms(s *Session, g *graph.Graph, spec engine.Spec, r *run) (*programs, error) {
	defer r.payer.Account.ReleaseSince(r.payer.Account.Mark(), 0)
	ps := &programs{s: s, g: g, spec: spec, room: make(chan struct{}, s.options.MaxConcurrent)}
	p, err := ps.make(max(r.batch, 1), r.payer)
	if err != nil {
		return nil, err
	}
	ps.rest(p)
	return ps, nil
}

// make compiles a program for batches of that many rows.
func (ps *programs) make(rows int, by eager.Payer) (*instance, error) {
	p, err := engine.Compile(ps.g, ps.spec, ps.s.dev, ps.s.vars.engine, engine.Options{Capacity: rows, HardPlacement: ps.s.options.HardPlacement, Allow: ps.allow(by)})
	if err != nil {
		return nil, err
	}
	ps.s.tell(p)
	return &instance{program: p, feeds: make([]*tensor.Tensor, len(ps.spec.Feeds))}, nil
}

// tell reports once which steps run on the host instead of the device.
func (s *Session) tell(p *engine.Program) {
	if steps := p.HostSteps(); len(steps) > 0 && s.options.OnHost != nil {
		s.reported.Do(func() { s.options.OnHost(steps, p.DeviceSteps()) })
	}
}

// allow asks the payer for memory. Memory of accelerators is not counted.
func (ps *programs) allow(by eager.Payer) func(int) error {
	if by.Account == nil || ps.s.dev.Kind() != device.KindHost {
		return nil
	}
	return func(bytes int) error { return by.Take(bytes, false) }
}

// spare is allow for memory that the run can do without.
func (ps *programs) spare(by eager.Payer) func(int) error {
	pay := ps.allow(by)
	if pay == nil {
		return nil
	}
	return func(bytes int) error {
		if !by.Fits(bytes, false) {
			return errNoSpare
		}
		return pay(bytes)
	}
}

// reserve makes sure that a program has room for that many rows, and that it is paid for. It rounds up to a power of two if that is not
// much memory, so that batches growing row by row need few plans; the run only pays for its own rows.
func (ps *programs) reserve(p *engine.Program, rows int, by eager.Payer) error {
	if p.Capacity() >= rows {
		if pay := ps.allow(by); pay != nil {
			return pay(share(p, rows))
		}
		return nil
	}
	if power := 1 << bits.Len(uint(rows-1)); rows < 1<<30 && share(p, power) <= int(ps.s.options.Limit/spareShare) {
		before := by.Account.Mark()
		if err := p.Reserve(power, ps.spare(by)); !errors.Is(err, errNoSpare) {
			by.Account.ReleaseSince(before, share(p, rows))
			return refused(err)
		}
	}
	return refused(p.Reserve(rows, ps.allow(by)))
}

// share returns the part of a program's memory that belongs to that many rows.
func share(p *engine.Program, rows int) int {
	return int(float64(p.Memory()) * float64(rows) / float64(max(p.Capacity(), 1)))
}

// refused returns errors of the budget. After other errors the run fails for the same reason, or finds room for its own batch.
func refused(err error) error {
	if over := (*budget.Error)(nil); errors.As(err, &over) {
		return err
	}
	return nil
}

// acquire waits for an idle program with room for that many rows.
func (ps *programs) acquire(ctx context.Context, rows int, by eager.Payer) (*instance, error) {
	if err := ps.enter(ctx); err != nil {
		return nil, err
	}
	if p := ps.wake(); p != nil {
		if err := ps.reserve(p.program, rows, by); err != nil {
			ps.give(p)
			return nil, err
		}
		return p, nil
	}
	p, err := ps.make(rows, by)
	if err != nil {
		<-ps.room
	}
	return p, err
}

// enter waits for permission to run.
func (ps *programs) enter(ctx context.Context) error {
	select {
	case ps.room <- struct{}{}:
		return nil
	default:
	}
	ps.s.waiting.Add(1)
	defer ps.s.waiting.Add(-1)
	select {
	case ps.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wake takes the program that became idle last, or nil if there is none.
func (ps *programs) wake() *instance {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	n := len(ps.idle)
	if n == 0 {
		return nil
	}
	p := ps.idle[n-1]
	ps.idle = ps.idle[:n-1]
	ps.s.idle.Add(-p.held)
	return p
}

// give returns a program. Idle programs may hold as much memory as one tensor in all, so that programs for large batches of
// rare sizes are dropped.
func (ps *programs) give(p *instance) {
	clear(p.feeds)
	p.program.Release()
	if !ps.rest(p) {
		_ = p.program.Close() // host memory: nobody could handle the error
	} else if ps.s.idle.Load() > ps.s.options.Limit {
		ps.s.evict(ps)
		if ps.s.idle.Load() > ps.s.options.Limit {
			ps.evict()
		}
	}
	<-ps.room
}

// rest makes a program idle, or returns false if ps is closed.
func (ps *programs) rest(p *instance) bool {
	p.held, p.since = int64(p.program.Memory()), time.Now()
	if p.held > trimAbove {
		ps.s.scheduleTrim()
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return false
	}
	ps.idle = append(ps.idle, p)
	ps.s.idle.Add(p.held)
	return true
}

// evict frees the idle programs.
func (ps *programs) evict() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.idle {
		ps.s.idle.Add(-p.held)
		_ = p.program.Close()
	}
	ps.idle = nil
}

// close frees the idle programs, and running ones once they are returned.
func (ps *programs) close() {
	ps.mu.Lock()
	ps.closed = true
	ps.mu.Unlock()
	ps.evict()
}
