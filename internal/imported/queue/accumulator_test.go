package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// TestAccumulatorSameAsModel: the mean is the mean of the gradients that were not stale.
func TestAccumulatorSameAsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := queue.NewRoom(1 << 20)
		a := queue.NewAccumulator(queue.AccumulatorSpec{Type: tensor.Float64, Shape: []int{}, Mean: rapid.Bool().Draw(t, "mean"), Room: room})
		var has []float64
		step := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				at, v := rapid.Int64Range(0, 6).Draw(t, "step"), float64(rapid.IntRange(0, 100).Draw(t, "gradient"))
				if err := a.Apply(at, queue.Gradient{Values: tensor.Scalar(v)}); err != nil {
					t.Fatal(err)
				}
				if at >= step {
					has = append(has, v)
				}
			},
			"take": func(t *rapid.T) {
				if len(has) == 0 {
					t.Skip("it would wait")
				}
				g, err := a.Take(context.Background(), rapid.IntRange(1, len(has)).Draw(t, "required"))
				want := 0.0
				for _, v := range has {
					want += v
				}
				if a.Spec().Mean {
					want /= float64(len(has))
				}
				if err != nil || g.Values.Float(0) != want {
					t.Fatalf("got %v, %v: expected %v", g.Values, err, want)
				}
				has, step = nil, step+1
			},
			"set step": func(t *rapid.T) {
				step = rapid.Int64Range(0, 6).Draw(t, "step")
				a.SetStep(step)
			},
			"": func(t *rapid.T) {
				if a.Count() != len(has) || (room.Used() == 0) != (len(has) == 0) {
					t.Fatalf("%d gradients, %d bytes: expected %d", a.Count(), room.Used(), len(has))
				}
			},
		})
	})
}

// TestAccumulatorWaits: Take waits for enough gradients, and ends with its client or the accumulator.
func TestAccumulatorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := queue.NewRoom(1 << 20)
		a := queue.NewAccumulator(queue.AccumulatorSpec{Type: tensor.Float32, Room: room})
		ctx, cancel := context.WithCancel(t.Context())
		take := func(ctx context.Context, n int) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := a.Take(ctx, n)
				done <- err
			}()
			synctest.Wait()
			return done
		}
		apply := func() {
			if err := a.Apply(9, queue.Gradient{Values: tensor.Scalar(float32(1))}); err != nil {
				t.Error(err)
			}
		}
		gone, second := take(ctx, 1), take(t.Context(), 2)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		apply()
		if a.Count() != 1 {
			t.Error("a client that is gone took a gradient")
		}
		apply()
		if err := <-second; err != nil || a.Count() != 0 {
			t.Errorf("%v, %d gradients are left", err, a.Count())
		}
		third := take(t.Context(), 5)
		if err := a.Apply(9, queue.Gradient{Values: tensor.New(tensor.Float32, 1<<19)}); !errors.Is(err, queue.ErrLimit) {
			t.Errorf("more than there is room for: got %v", err)
		}
		a.Discard()
		if err := <-third; !errors.Is(err, queue.ErrCancelled) {
			t.Errorf("the accumulator is gone: got %v", err)
		}
		if err := a.Apply(9, queue.Gradient{Values: tensor.New(tensor.Float32, 1)}); !errors.Is(err, queue.ErrCancelled) || room.Used() != 0 {
			t.Errorf("a gradient for what is gone: got %v, %d bytes are left", err, room.Used())
		}
		if err := <-take(t.Context(), 1); !errors.Is(err, queue.ErrCancelled) {
			t.Errorf("the sum of what is gone: got %v", err)
		}
	})
}

// TestKindsSameAsModel: each kind of queue returns its elements in its order, and counts their memory.
func TestKindsSameAsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, room, draws := rapid.SampledFrom([]queue.Kind{queue.Padding, queue.Shuffle, queue.Priority}).Draw(t, "kind"), queue.NewRoom(1<<20), uint32(7)
		spec := queue.Spec{Kind: kind, Types: []tensor.DType{tensor.Int64}, Shapes: [][]int{{}}, Capacity: 20, Room: room, Draw: func() uint32 { draws = draws*1664525 + 1013904223; return draws >> 8 }}
		if kind == queue.Shuffle {
			spec.Keep = rapid.IntRange(0, 3).Draw(t, "keep")
		}
		q := queue.New("q", spec)
		var model []int64
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 20-len(model)).Draw(t, "elements")
				if err := q.Enqueue(context.Background(), elements(v...)...); err != nil {
					t.Fatal(err)
				}
				model = append(model, v...)
			},
			"take": func(t *rapid.T) {
				n := rapid.IntRange(0, max(0, len(model)-spec.Keep)).Draw(t, "n")
				got, err := q.Dequeue(context.Background(), n, false)
				if err != nil || len(got) != n {
					t.Fatalf("took %v, %v: expected %d", values(got), err, n)
				}
				if kind == queue.Priority {
					slices.Sort(model)
				}
				for i, v := range values(got) {
					at := slices.Index(model, v)
					if at < 0 || kind != queue.Shuffle && at != 0 {
						t.Fatalf("element %d is %d: expected one of %v", i, v, model)
					}
					model = slices.Delete(model, at, at+1)
				}
			},
			"": func(t *rapid.T) {
				if q.Size() != len(model) || (room.Used() == 0) != (len(model) == 0) {
					t.Fatalf("%d elements, %d bytes: expected %d", q.Size(), room.Used(), len(model))
				}
			},
		})
		q.Discard()
		if room.Used() != 0 || q.Size() != 0 {
			t.Fatalf("%d bytes are left", room.Used())
		}
	})
}
