package nccl

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers/peerstest"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/goestimator/goestimator/internal/runtime/kernels.(*pool).worker"))
}

// fakeCalls is NCCL in the fake driver's memory: it sums when a group of calls ends.
type fakeCalls struct {
	host    *peers.Host
	streams []driver.Stream // handle-1
	parts   []peers.Part
	states  map[communicator]error
	ranks   communicator
	left    []leaving
	stuck   chan struct{} // if not nil, calls of leave return only after it is closed
}

func (f *fakeCalls) group(do func() error) error {
	f.parts = nil
	if err := do(); err != nil || len(f.parts) == 0 {
		return err
	}
	return f.host.AllReduce(f.parts)
}

func (f *fakeCalls) enter(_ membership, to *communicator) error {
	f.ranks++
	*to = f.ranks
	return nil
}

func (f *fakeCalls) allReduce(_ communicator, r reduction) error {
	f.parts = append(f.parts, peers.Part{Stream: f.streams[r.stream-1], Address: r.at, Count: r.count, Type: r.dtype})
	return nil
}

func (f *fakeCalls) state(c communicator) error { return f.states[c] }

func (f *fakeCalls) leave(_ communicator, how leaving) error {
	if f.stuck != nil {
		<-f.stuck
		return nil
	}
	f.left = append(f.left, how)
	if how == finalize {
		return nil
	}
	f.ranks--
	if f.ranks == 0 {
		return f.host.Close()
	}
	return nil
}

func TestContract(t *testing.T) {
	peerstest.Run(t, func(r *peerstest.Rig) peers.Reducer {
		f := &fakeCalls{host: peers.NewHost(r.Contexts())}
		contexts := r.Contexts()
		for i, s := range r.Streams {
			f.streams, contexts[i] = append(f.streams, s), nativeContext{contexts[i]}
			r.Streams[i] = nativeStream{s, uintptr(i + 1)}
		}
		g, err := join(r.T.Context(), f, contexts, place{total: len(contexts)})
		if err != nil {
			r.T.Fatal(err)
		}
		return g
	})
}

// TestCheck checks that a later error of a rank is returned.
func TestCheck(t *testing.T) {
	f := &fakeCalls{host: peers.NewHost(nil), states: map[communicator]error{}}
	g, err := join(t.Context(), f, []driver.Context{nativeContext{}, nativeContext{}}, place{total: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	lost := &Error{Call: "nccl", Result: ResultRemote, Text: "remote"}
	f.states[2] = lost
	if err := g.Check(); !errors.Is(err, lost) {
		t.Errorf("expected %v, got %v", lost, err)
	}
	if err := g.Close(); err != nil || f.ranks != 0 {
		t.Errorf("close: %v, %d ranks left", err, f.ranks)
	}
}

// TestLeaveTheOthers ends groups of several processes with the others, without them, and after a failure.
func TestLeaveTheOthers(t *testing.T) {
	lost := &Error{Call: "nccl", Result: ResultRemote, Text: "remote"}
	for what, c := range map[string]struct {
		state error
		want  []leaving
	}{
		"in good order":            {nil, []leaving{finalize, destroy}},
		"the others do not end it": {errInProgress, []leaving{finalize, abort}},
		"the others are gone":      {lost, []leaving{finalize, abort}},
	} {
		f := &fakeCalls{host: peers.NewHost(nil), states: map[communicator]error{}}
		g, err := join(t.Context(), f, []driver.Context{nativeContext{}}, place{total: 2})
		if err != nil {
			t.Fatal(err)
		}
		g.patience = 2 * interval
		f.states[1] = c.state
		if err := g.Close(); err != nil || !slices.Equal(f.left, c.want) {
			t.Errorf("%s: expected the calls %v, got %v, %v", what, c.want, f.left, err)
		}
	}
}

// TestStuckLibrary: nobody waits for a library that does not return.
func TestStuckLibrary(t *testing.T) {
	for _, total := range []int{1, 2} {
		for what, end := range map[string]func(*Group) error{"close": (*Group).Close, "abort": (*Group).Abort} {
			f := &fakeCalls{host: peers.NewHost(nil), states: map[communicator]error{}, stuck: make(chan struct{})}
			g, err := join(t.Context(), f, []driver.Context{nativeContext{}}, place{total: total})
			if err != nil {
				t.Fatal(err)
			}
			g.leaveTime = time.Millisecond
			if err := end(g); !errors.Is(err, ErrStuck) {
				t.Errorf("%s of a group of %d: expected %v, got %v", what, total, ErrStuck, err)
			}
			if err := errors.Join(g.Close(), g.Check()); err != nil {
				t.Errorf("%s, then close: %v", what, err)
			}
			close(f.stuck)
		}
	}
}

// TestSumWithoutTheOthers checks that a sum that other processes do not join ends with its context, and that the group ends, too.
func TestSumWithoutTheOthers(t *testing.T) {
	peerstest.Each(t, 1, func(r *peerstest.Rig) {
		f := &fakeCalls{host: peers.NewHost(r.Contexts()), streams: r.Streams, states: map[communicator]error{}}
		g, err := join(t.Context(), f, []driver.Context{nativeContext{r.Contexts()[0]}}, place{total: 2})
		if err != nil {
			t.Fatal(err)
		}
		f.states[1] = errInProgress
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		parts := []peers.Part{{Stream: nativeStream{r.Streams[0], 1}, Address: r.Put(0, make([]byte, 8)), Count: 1, Type: tensor.Float64}}
		if err := g.Reduce(ctx, parts); !errors.Is(err, gone) {
			t.Errorf("expected %v, got %v", gone, err)
		}
		if err := g.Reduce(t.Context(), parts); !errors.Is(err, peers.ErrBroken) {
			t.Errorf("after that: expected %v, got %v", peers.ErrBroken, err)
		}
		if err := errors.Join(r.Streams[0].Synchronize(), g.Close()); err != nil || !slices.Equal(f.left, []leaving{abort}) {
			t.Errorf("close: expected an abort, got %v, %v", f.left, err)
		}
	})
}

func TestContextsOfTheFake(t *testing.T) {
	c, err := fake.New(fake.Default).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := Open([]driver.Context{c})
	_, err2 := Network{}.Join(t.Context(), []driver.Context{c}, peers.Place{Total: 1})
	_, err3 := Network{}.Version(c)
	if !errors.Is(err1, ErrNotNative) || !errors.Is(err2, ErrNotNative) || !errors.Is(err3, ErrNotNative) {
		t.Errorf("expected %v, got %v, %v, %v", ErrNotNative, err1, err2, err3)
	}
}
