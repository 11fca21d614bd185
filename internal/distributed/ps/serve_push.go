package ps

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
)

// maxPosition bounds the state of a worker's input.
const maxPosition = 16 << 20

// push receives one worker's gradients for this server and, in asynchronous plans,
// applies them; in synchronous ones they wait for the other workers'.
func (s *Server) push(ctx context.Context, st cluster.Stream) error {
	h := &wire.PushHeader{}
	x, err := s.open(st, h)
	if err != nil {
		return err
	}
	t, err := transferOf(h.Transfer)
	if err != nil {
		return err
	}
	want, err := versionsOf(h.Want)
	if err != nil {
		return err
	}
	r, err := x.rank(int(h.Rank))
	if err != nil {
		return err
	}
	if h.Ask {
		v := x.verdict(r, h)
		if err := st.Send(&cluster.Frame{Header: wire.Encode(v)}); err != nil || v.Stale || v.Done {
			return err
		}
	}
	if err := x.expectTally(h); err != nil {
		return err
	}
	all, err := x.prepare(h)
	if err != nil {
		return err
	}
	stale, err := x.receive(ctx, st, r, &arrival{PushHeader: h, all: all})
	if err != nil {
		return err
	}
	err = st.Send(&cluster.Frame{Header: wire.Encode(&wire.PushReply{Progress: x.now().message(), Stale: stale}), More: len(want) > 0})
	if err != nil || len(want) == 0 {
		return err
	}
	return x.sendValues(st, want, t)
}

// receive receives the rest of a push and uses it. If other servers have a share,
// server 0 applies its own before it learns that they have theirs.
func (s *session) receive(ctx context.Context, st cluster.Stream, r *rank, a *arrival) (stale bool, err error) {
	in := &body{st: st}
	if a.tally, err = receive(in, a.all, a.PushHeader); err == nil && s.server == 0 && s.plan.Servers > 1 && s.plan.Sync == nil && a.tally == nil {
		err = s.applyEarly(ctx, r, a)
	}
	var end wire.PushEnd
	if err == nil {
		err = in.end(&end)
	}
	if err == nil && len(end.Position) > maxPosition {
		err = status.Errorf(codes.InvalidArgument, "a position of %d bytes: expected at most %d", len(end.Position), maxPosition)
	}
	if err != nil {
		freeAll(a.all)
		return false, err
	}
	a.position = end.Position
	return s.commit(ctx, r, a)
}

// applyEarly applies a push that is not counted yet.
func (s *session) applyEarly(ctx context.Context, r *rank, a *arrival) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == a.Client && a.Sequence <= max(r.sequence, r.early) {
		return nil // it was applied before
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	if r.client != a.Client {
		r.client, r.sequence, r.stale, r.err = a.Client, 0, false, nil
	}
	r.early = a.Sequence
	if err := s.applyAll(a); err != nil {
		r.sequence, r.err = a.Sequence, status.Error(codes.Internal, err.Error())
		return r.err
	}
	return nil
}

// arrival is a push that has arrived completely.
type arrival struct {
	*wire.PushHeader
	all      []*incoming
	tally    *optimizers.Tally // nil: none
	position []byte
}

// verdict reports whether it makes sense to send the gradients.
func (s *session) verdict(r *rank, h *wire.PushHeader) *wire.PushReply {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &wire.PushReply{Progress: s.now().message()}
	if r.client == h.Client && h.Sequence == r.sequence && r.err == nil {
		v.Stale, v.Done = r.stale, true
		s.count(func(c *Stats) { c.Duplicates++ })
		return v
	}
	if v.Stale = s.tooOld(h); v.Stale {
		s.count(func(c *Stats) { c.Stale++ })
	}
	return v
}

// tooOld reports whether gradients will not be used.
func (s *session) tooOld(h *wire.PushHeader) bool {
	if s.plan.Sync != nil {
		return s.rounds.over(h.Step, int(h.Rank))
	}
	return s.plan.Staleness > 0 && s.now().step-h.Step > s.plan.Staleness
}

// commit uses a push exactly once. It owns the entries' memory.
func (s *session) commit(ctx context.Context, r *rank, a *arrival) (stale bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == a.Client && a.Sequence <= r.sequence {
		freeAll(a.all)
		s.count(func(c *Stats) { c.Duplicates++ })
		if a.Sequence < r.sequence {
			return true, nil
		}
		return r.stale, r.err
	}
	if s.plan.Sync != nil && !a.Update {
		stale, err = s.rounds.add(a)
	} else {
		if err := s.enter(ctx); err != nil {
			freeAll(a.all)
			return false, err
		}
		defer s.gate.leave()
		stale, err = s.applyNow(a, r.client == a.Client && r.early == a.Sequence)
	}
	if r.client != a.Client {
		r.early = 0 // it belonged to the worker's previous run
	}
	r.client, r.sequence, r.stale, r.err = a.Client, a.Sequence, stale, err
	s.count(func(c *Stats) {
		if stale {
			c.Stale++
		} else {
			c.Pushes++
		}
	})
	return stale, err
}

// enter passes the gate.
func (s *session) enter(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ends, cancel)()
	switch err := s.gate.enter(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, errQueueFull):
		return status.Error(codes.ResourceExhausted, err.Error())
	case s.ends.Err() != nil:
		return s.ended()
	default:
		return status.FromContextError(err).Err()
	}
}

// applyNow applies a push of an asynchronous plan. Server 0 counts it, unless its
// tally is stale. early reports that it was applied already.
func (s *session) applyNow(a *arrival, early bool) (stale bool, err error) {
	defer freeAll(a.all)
	if !early {
		err = s.applyAll(a)
	}
	if err == nil && a.tally != nil {
		stale, err = s.function.apply(a.tally)
	}
	if err != nil {
		return false, status.Error(codes.Internal, err.Error())
	}
	if stale {
		return true, nil
	}
	if s.server == 0 && !a.Update {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.step++
		if len(a.position) > 0 {
			s.positions[int(a.Rank)] = a.position
		}
		s.signal()
	}
	return false, nil
}

// applyAll updates the units of all entries.
func (s *session) applyAll(a *arrival) error {
	return parallel(len(a.all), func(i int) error { return a.all[i].use(a.Step) })
}

// use updates the entry's unit. An update that has begun is completed.
func (in *incoming) use(step int64) error {
	switch in.kind {
	case assignment:
		return in.u.assign(in.values)
	case addition:
		return in.u.add(in.values)
	}
	return in.u.apply(context.Background(), step, &in.gradient)
}

// parallel calls f(0..n-1) on all processors and returns all errors.
func parallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, n)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
