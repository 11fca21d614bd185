package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func numbers(capacity int) *queue.Queue {
	return queue.New("q", queue.Spec{Types: []tensor.DType{tensor.Int64}, Shapes: [][]int{{}}, Capacity: capacity, Room: queue.NewRoom(1 << 20)})
}

func elements(v ...int64) (all []queue.Element) {
	for _, x := range v {
		all = append(all, queue.Element{tensor.Scalar(x)})
	}
	return all
}

func values(all []queue.Element) (v []int64) {
	for _, e := range all {
		v = append(v, int64(e[0].Float(0)))
	}
	return v
}

// answer is the outcome of a call.
type answer struct {
	values []int64
	err    error
}

// start makes a call in its own goroutine.
func start(call func() ([]queue.Element, error)) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		e, err := call()
		done <- answer{values(e), err}
	}()
	synctest.Wait()
	return done
}

// waits fails if a call has ended.
func waits(t *testing.T, done <-chan answer) {
	t.Helper()
	select {
	case a := <-done:
		t.Errorf("the call ended with %v, %v: expected it to wait", a.values, a.err)
	default:
	}
}

func expect(t *testing.T, done <-chan answer, text string, want ...int64) {
	t.Helper()
	got := <-done
	if text == "" && got.err != nil || text != "" && (got.err == nil || got.err.Error() != text) || !slices.Equal(got.values, want) {
		t.Errorf("got %v, %v, expected %v, %q", got.values, got.err, want, text)
	}
}

// TestWaits: every way in which a wait can end.
func TestWaits(t *testing.T) {
	type rig struct {
		*queue.Queue
		t      *testing.T
		ctx    context.Context
		cancel context.CancelCauseFunc
	}
	put := func(r rig, v ...int64) <-chan answer {
		return start(func() ([]queue.Element, error) { return nil, r.Enqueue(r.ctx, elements(v...)...) })
	}
	take := func(r rig, n int, upTo bool) <-chan answer {
		return start(func() ([]queue.Element, error) { return r.Dequeue(r.ctx, n, upTo) })
	}
	shut := func(r rig, cancel bool) <-chan answer {
		return start(func() ([]queue.Element, error) { return nil, r.Close(r.t.Context(), cancel) })
	}
	gone := errors.New("the client is gone")
	for name, run := range map[string]func(r rig){
		"an element comes": func(r rig) {
			a := take(r, 1, false)
			waits(r.t, a)
			expect(r.t, put(r, 5), "")
			expect(r.t, a, "", 5)
		},
		"room comes": func(r rig) {
			a := put(r, 1, 2, 3)
			waits(r.t, a)
			expect(r.t, take(r, 1, false), "", 1)
			expect(r.t, a, "")
		},
		"more than the capacity at once": func(r rig) {
			a := take(r, 5, false)
			expect(r.t, put(r, 1, 2, 3), "")
			waits(r.t, a)
			expect(r.t, put(r, 4, 5, 6), "")
			expect(r.t, a, "", 1, 2, 3, 4, 5)
		},
		"closed without elements": func(r rig) {
			a := take(r, 1, false)
			expect(r.t, shut(r, false), "")
			expect(r.t, a, "FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)")
		},
		"closed with some elements": func(r rig) {
			a := take(r, 3, false)
			expect(r.t, put(r, 1), "")
			expect(r.t, shut(r, false), "")
			expect(r.t, a, "FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 0)")
			expect(r.t, take(r, 3, true), "", 1) // it was put back
		},
		"closed behind what waits for room": func(r rig) {
			a := put(r, 1, 2, 3)
			b := shut(r, false)
			waits(r.t, b)
			expect(r.t, take(r, 1, false), "", 1)
			expect(r.t, a, "")
			expect(r.t, b, "")
			expect(r.t, put(r, 4), "FIFOQueue 'q' is closed.")
			expect(r.t, shut(r, false), "Queue 'q' is already closed.")
			expect(r.t, take(r, 2, false), "", 2, 3)
		},
		"closed, what waits is cancelled": func(r rig) {
			a := put(r, 1, 2, 3)
			expect(r.t, shut(r, true), "")
			expect(r.t, a, "Enqueue operation was cancelled")
			expect(r.t, take(r, 9, true), "", 1, 2)
		},
		"the client goes while it takes": func(r rig) {
			a := take(r, 2, false)
			expect(r.t, put(r, 1), "")
			b := start(func() ([]queue.Element, error) { return r.Dequeue(r.t.Context(), 1, false) })
			waits(r.t, b)
			r.cancel(gone)
			expect(r.t, a, gone.Error())
			expect(r.t, b, "", 1) // the next one gets what the first one had
		},
		"the client goes while it puts": func(r rig) {
			a := put(r, 1, 2, 3)
			b := start(func() ([]queue.Element, error) { return nil, r.Enqueue(r.t.Context(), elements(4)...) })
			r.cancel(gone)
			expect(r.t, a, gone.Error())
			waits(r.t, b)
			c := start(func() ([]queue.Element, error) { return r.Dequeue(r.t.Context(), 3, false) })
			expect(r.t, b, "")
			expect(r.t, c, "", 1, 2, 4)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				run(rig{numbers(2), t, ctx, cancel})
			})
		})
	}
}

// TestRefusals: elements that do not fit, and more memory than a queue may use.
func TestRefusals(t *testing.T) {
	q := numbers(1 << 20)
	for name, c := range map[string]struct {
		e    queue.Element
		text string
	}{
		"components": {queue.Element{}, "Wrong number of components in tuple. Expected 1, got 0"},
		"type":       {queue.Element{tensor.Scalar(float32(1))}, "Type mismatch in tuple component 0. Expected int64, got float"},
		"shape":      {queue.Element{tensor.New(tensor.Int64, 2, 3)}, "Shape mismatch in tuple component 0. Expected [], got [2,3]"},
	} {
		if err := q.Enqueue(t.Context(), c.e); err == nil || err.Error() != c.text {
			t.Errorf("%s: got %v, expected %q", name, err, c.text)
		}
	}
	var err error
	for err == nil {
		err = q.Enqueue(t.Context(), elements(1, 2, 3)...)
	}
	if !errors.Is(err, queue.ErrLimit) || q.Size() > 1<<20/160 {
		t.Errorf("%d elements, %v", q.Size(), err)
	}
	size := q.Size()
	if got, err := q.Dequeue(t.Context(), size, false); err != nil || len(got) != size {
		t.Errorf("took %d of %d elements, %v", len(got), size, err)
	}
	if err := q.Enqueue(t.Context(), elements(1)...); err != nil {
		t.Errorf("the memory of elements that were taken is not free: %v", err)
	}
}

// TestSameAsModel: calls that need not wait behave like a slice.
func TestSameAsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 8).Draw(t, "capacity")
		q := numbers(capacity)
		var model []int64
		closed := false
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := rapid.SliceOfN(rapid.Int64Range(0, 1000), 0, capacity-len(model)).Draw(t, "elements")
				err := q.Enqueue(context.Background(), elements(v...)...)
				switch {
				case closed && len(v) > 0:
					if !errors.Is(err, queue.ErrCancelled) {
						t.Fatalf("a closed queue took elements: %v", err)
					}
				case err != nil:
					t.Fatal(err)
				default:
					model = append(model, v...)
				}
			},
			"take": func(t *rapid.T) {
				n, upTo := rapid.IntRange(0, len(model)).Draw(t, "n"), rapid.Bool().Draw(t, "up to")
				if closed {
					n = rapid.IntRange(1, 10).Draw(t, "n")
				}
				got, err := q.Dequeue(context.Background(), n, upTo)
				if n > len(model) && (!upTo || len(model) == 0) {
					if !errors.Is(err, queue.ErrOutOfRange) {
						t.Fatalf("took %v, %v", values(got), err)
					}
					return
				}
				n = min(n, len(model))
				if err != nil || !slices.Equal(values(got), model[:n]) && n > 0 {
					t.Fatalf("took %v, %v: expected %v", values(got), err, model[:n])
				}
				model = model[n:]
			},
			"close": func(t *rapid.T) {
				cancel := rapid.Bool().Draw(t, "cancel")
				if err := q.Close(context.Background(), cancel); (err != nil) != (closed && !cancel) {
					t.Fatal(err)
				}
				closed = true
			},
			"": func(t *rapid.T) {
				if q.Size() != len(model) || q.Closed() != closed {
					t.Fatalf("%d elements, closed %v: expected %d, %v", q.Size(), q.Closed(), len(model), closed)
				}
			},
		})
	})
}
