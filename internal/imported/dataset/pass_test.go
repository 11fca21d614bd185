package dataset

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/tensor"
)

func onePass() *Pass { return &Pass{Room: NewRoom(4 << 10), Limit: 1 << 10} }

// TestBounds: values that would take too much memory are errors, and not made.
func TestBounds(t *testing.T) {
	all, err := Shuffle(Repeat(counting(1), -1), 1<<40, NewSeeds(1, 1, true), 1)
	if err != nil {
		t.Fatal(err)
	}
	many, err := Batch(Repeat(counting(1), -1), 1<<40, false)
	if err != nil {
		t.Fatal(err)
	}
	long, err := Batch(counting(200), 200, false)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := PaddedBatch(counting(1).(*source).with(tensor.New(tensor.Int64, 1)), 1, false, [][]int{{1 << 50}}, Element{{T: tensor.Scalar(int64(0))}})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := Window(Repeat(counting(1), -1), 1<<30, 1, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Dataset{"shuffle": all, "batch": many, "long batch": long, "padding": wide, "window": windows, "cache": Cache(counting(1<<40), &Memory{})} {
		p := onePass()
		in, err := d.Iterator(p)
		for n := 0; err == nil && n < 1000; n++ {
			_, err = in.Next(t.Context())
		}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v", name, err)
		}
		in.Close()
		if p.Room.Held() != 0 {
			t.Errorf("%s: %d bytes are still kept", name, p.Room.Held())
		}
	}
}

// with is a dataset of as many copies of t.
func (s *source) with(t *tensor.Tensor) Dataset {
	return &source{s.n, func(int64) (Element, error) { return Element{{T: t}}, nil }}
}

// TestPrefetchWithoutRoom: without room, a buffer holds one element at a time.
func TestPrefetchWithoutRoom(t *testing.T) {
	in, err := Prefetch(counting(50), 40).Iterator(&Pass{Room: NewRoom(10), Limit: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for i := range int64(50) {
		if e, err := in.Next(t.Context()); err != nil || e[0].T.Int(0) != i {
			t.Fatalf("element %d: %v, %v", i, e, err)
		}
	}
}

// waits is a function that blocks until its context ends.
func waits(ctx context.Context, _ Element) (Element, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestWaiting: a call that waits for an element ends with its context, and with the iterator. An unused pass runs nothing.
func TestWaiting(t *testing.T) {
	for name, d := range map[string]Dataset{"map": Map(counting(9), waits, false), "parallel map": ParallelMap(counting(9), waits, 3, false), "prefetch": Prefetch(Map(counting(9), waits, false), 3)} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHandle()
			if err := h.Set(t.Context(), d, onePass()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			first, second, third := make(chan error), make(chan error), make(chan error)
			next := func(ctx context.Context, out chan error) {
				_, err := h.Next(ctx)
				out <- err
			}
			go next(ctx, first)
			synctest.Wait()
			go next(ctx, second) // waits for its turn
			synctest.Wait()
			cancel()
			if err := errors.Join(<-first, <-second); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", name, err)
			}
			go next(t.Context(), third)
			synctest.Wait()
			h.Close()
			if err := <-third; err == nil || err == io.EOF {
				t.Errorf("%s: closed, got %v", name, err)
			}
			if _, err := h.Next(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: after Close: %v", name, err)
			}
			h.Close()
		})
	}
}

// TestLostHandle: an unreachable iterator is closed.
func TestLostHandle(t *testing.T) {
	closed := make(chan struct{})
	func() {
		if err := NewHandle().Set(t.Context(), closing{closed}, onePass()); err != nil {
			t.Fatal(err)
		}
	}()
	for {
		runtime.GC()
		select {
		case <-closed:
			return
		default:
			runtime.Gosched()
		}
	}
}

// closing is a dataset whose passes report that they are closed.
type closing struct{ closed chan struct{} }

func (closing) Cardinality() int64                    { return 0 }
func (c closing) Iterator(*Pass) (Iterator, error)    { return c, nil }
func (closing) Next(context.Context) (Element, error) { return nil, io.EOF }
func (c closing) Close()                              { close(c.closed) }

// TestUnset: an iterator without a dataset returns an error.
func TestUnset(t *testing.T) {
	h := NewHandle()
	defer h.Close()
	if _, err := h.Next(t.Context()); !errors.Is(err, ErrUnset) {
		t.Errorf("got %v", err)
	}
	if err := h.Begin(t.Context(), onePass(), func() (Dataset, error) { return counting(1), nil }); err != nil {
		t.Fatal(err)
	}
	if err := h.Begin(t.Context(), onePass(), func() (Dataset, error) { return nil, io.ErrNoProgress }); err != nil {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := h.Next(t.Context()); err != nil {
		t.Error(err)
	}
}
