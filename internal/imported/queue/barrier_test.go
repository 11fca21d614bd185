package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

func newBarrier(room *Room) *Barrier {
	return NewBarrier("b", BarrierSpec{Types: []tensor.DType{tensor.Float32, tensor.Int64}, Shapes: [][]int{{}, {}}, Room: room})
}

func keys(names ...string) (all [][]byte) {
	for _, n := range names {
		all = append(all, []byte(n))
	}
	return all
}

// TestBarrierWaits: a value can be taken once it has all components, the first insertion first; waiting calls end with the barrier.
func TestBarrierWaits(t *testing.T) {
	ctx, room := context.Background(), NewRoom(1<<20)
	b := newBarrier(room)
	taken := make(chan []Element, 1)
	go func() {
		all, err := b.Take(ctx, 2, false)
		if err != nil {
			t.Error(err)
		}
		taken <- all
	}()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(b.Insert(ctx, 0, keys("x", "y"), []*tensor.Tensor{tensor.Scalar(float32(1)), tensor.Scalar(float32(2))}))
	check(b.Insert(ctx, 1, keys("y"), []*tensor.Tensor{tensor.Scalar(int64(20))}))
	check(b.Insert(ctx, 1, keys("x"), []*tensor.Tensor{tensor.Scalar(int64(10))}))
	if all := <-taken; len(all) != 2 || len(all[0]) != 4 {
		t.Fatalf("got %v", all)
	}
	if room.Used() != 0 {
		t.Errorf("%d bytes are still taken", room.Used())
	}
	check(b.Insert(ctx, 0, keys("z"), []*tensor.Tensor{tensor.Scalar(float32(3))}))
	check(b.Close(ctx, false))
	ended := make(chan error, 1)
	go func() {
		_, err := b.Take(ctx, 1, false)
		ended <- err
	}()
	for len(waiting(b)) == 0 {
		time.Sleep(time.Millisecond)
	}
	check(b.Close(ctx, true))
	if err := <-ended; !errors.Is(err, ErrOutOfRange) {
		t.Errorf("got %v, expected the end of the barrier", err)
	}
	if room.Used() != 0 {
		t.Errorf("%d bytes are still taken", room.Used())
	}
}

func waiting(b *Barrier) []*attempt {
	b.ready.mu.Lock()
	defer b.ready.mu.Unlock()
	return b.ready.takes
}

// TestBarrierRoom: components that exceed the memory are refused, and give back what they took.
func TestBarrierRoom(t *testing.T) {
	ctx, room := context.Background(), NewRoom(1000)
	b := newBarrier(room)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = b.Insert(ctx, 0, keys(strings.Repeat("k", i)), []*tensor.Tensor{tensor.Scalar(float32(i))})
	}
	if !errors.Is(err, ErrLimit) {
		t.Fatalf("got %v", err)
	}
	b.Discard()
	if room.Used() != 0 {
		t.Errorf("%d bytes are still taken", room.Used())
	}
}

// TestBarrierKeepsValues: a value is not lost if there is no memory for its last component, or if the caller is gone.
func TestBarrierKeepsValues(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	short := 0
	for limit := range int64(2000) {
		room := NewRoom(limit)
		b := newBarrier(room)
		err := b.Insert(gone, 0, keys("x"), []*tensor.Tensor{tensor.Scalar(float32(1))})
		has := b.Incomplete()
		if err != nil && has != 0 || err == nil && has != 1 {
			t.Fatalf("room for %d bytes: %d values after %v", limit, has, err)
		}
		if has == 0 {
			continue
		}
		if err = b.Insert(gone, 1, keys("x"), []*tensor.Tensor{tensor.Scalar(int64(2))}); err != nil {
			short++
		}
		if b.Ready()+b.Incomplete() != 1 || (b.Ready() == 1) != (err == nil) {
			t.Fatalf("room for %d bytes: %d values, %d incomplete after %v", limit, b.Ready(), b.Incomplete(), err)
		}
		if b.Discard(); room.Used() != 0 {
			t.Fatalf("room for %d bytes: %d are still taken", limit, room.Used())
		}
	}
	if short == 0 {
		t.Error("there was always memory")
	}
}
