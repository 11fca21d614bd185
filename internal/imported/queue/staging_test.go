package queue

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

func one(v float32) Element { return Element{tensor.Scalar(v)} }

func (a *area) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) == 0
}

// TestStagingWaits: Put waits for room, Get and Peek for an element, whatever else waits; a wait ends with its context.
func TestStagingWaits(t *testing.T) {
	ctx, room := context.Background(), NewRoom(1<<20)
	s := NewStaging(Limits{Elements: 1, Room: room})
	short, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Peek(short, 5)
		ended <- err
	}()
	got := make(chan Element, 2)
	for range 2 {
		go func() {
			e, err := s.Get(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- e
		}()
	}
	for v := range 3 { // the third stays
		if err := s.Put(ctx, one(float32(v))); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := (<-got)[0].Float(0), (<-got)[0].Float(0); a+b != 1 {
		t.Errorf("got %v and %v", a, b)
	}
	blocked := make(chan error, 1)
	go func() { blocked <- s.Put(ctx, one(9)) }()
	for s.idle() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Clear()
	if err := <-blocked; err != nil || s.Size() != 1 {
		t.Errorf("after Clear: %v, %d elements", err, s.Size())
	}
	s.Discard()
	if room.Used() != 0 {
		t.Errorf("%d bytes are still taken", room.Used())
	}
	if _, err := s.Get(ctx); !errors.Is(err, ErrCancelled) {
		t.Errorf("got %v of an area that is gone", err)
	}
}

// TestStagingMapParts: tensors of an element come and go one by one, and all memory is given back.
func TestStagingMapParts(t *testing.T) {
	ctx, room := context.Background(), NewRoom(1<<20)
	m := NewStagingMap(2, Limits{Elements: 1, Bytes: 12, Room: room})
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step(m.Put(ctx, 1, []int{1}, one(1)))
	step(m.Put(ctx, 1, []int{0}, one(0)))
	step(m.Put(ctx, 2, []int{0}, one(2)))
	got, err := m.Get(ctx, 1, []int{0}, false)
	step(err)
	if got[0].Float(0) != 0 || m.Size() != 1 || m.Incomplete() != 1 {
		t.Errorf("got %v, %d elements, %d incomplete", got, m.Size(), m.Incomplete())
	}
	twice := m.Put(ctx, 2, []int{0}, one(1))
	blocked := make(chan error, 1)
	go func() { blocked <- m.Put(ctx, 3, []int{0, 1}, append(one(5), one(6)...)) }()
	for m.idle() {
		time.Sleep(time.Millisecond)
	}
	key, rest, err := m.First(ctx, []int{1})
	step(err)
	if key != 1 || rest[0].Float(0) != 1 {
		t.Errorf("got %d: %v", key, rest)
	}
	step(<-blocked)
	for _, bad := range []error{m.Put(ctx, 4, []int{2}, one(1)), m.Put(ctx, 4, []int{1, 0}, append(one(1), one(1)...)), m.Put(ctx, 4, []int{0}, nil), twice} {
		if bad == nil {
			t.Error("what does not fit is accepted")
		}
	}
	m.Clear()
	if room.Used() != 0 || m.bytes != 0 {
		t.Errorf("%d bytes are still taken, of %d", room.Used(), m.bytes)
	}
	m.Discard()
}

// TestStagingMapOrder: First returns the smallest key, whatever came and went, and removed keys take no memory.
func TestStagingMapOrder(t *testing.T) {
	ctx, draw := context.Background(), rand.New(rand.NewPCG(1, 2))
	m := NewStagingMap(1, Limits{Room: NewRoom(1 << 20)})
	has := map[int64]bool{}
	for range 2000 {
		key := draw.Int64N(50) - 25
		switch {
		case !has[key]:
			if err := m.Put(ctx, key, []int{0}, one(1)); err != nil {
				t.Fatal(err)
			}
			has[key] = true
		case draw.IntN(2) == 0:
			if _, err := m.Get(ctx, key, []int{0}, false); err != nil {
				t.Fatal(err)
			}
			delete(has, key)
		default:
			want := slices.Min(slices.Collect(maps.Keys(has)))
			if got, _, err := m.First(ctx, []int{0}); err != nil || got != want {
				t.Fatalf("got %d, %v, expected %d", got, err, want)
			}
			delete(has, want)
		}
		if len(m.order) > 2*50 {
			t.Fatalf("%d keys are kept of %d", len(m.order), len(has))
		}
	}
}

// BenchmarkStagingMapFirst takes the first of 100,000 elements, and puts it back.
func BenchmarkStagingMapFirst(b *testing.B) {
	ctx := context.Background()
	m := NewStagingMap(1, Limits{Room: NewRoom(1 << 40)})
	for i := range 100_000 {
		if err := m.Put(ctx, int64(i), []int{0}, one(1)); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		key, e, err := m.First(ctx, []int{0})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Put(ctx, key, []int{0}, e); err != nil {
			b.Fatal(err)
		}
	}
}

// TestKept: elements can be taken once, and missing ones are refused.
func TestKept(t *testing.T) {
	room := NewRoom(1 << 20)
	k := NewKept("k", room)
	a, err := k.Put(one(1))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := k.Take([]int64{a}); err != nil || all[0][0].Float(0) != 1 || room.Used() != 0 {
		t.Errorf("got %v, %v, %d bytes", all, err, room.Used())
	}
	if _, err := k.Take([]int64{a}); err == nil {
		t.Error("an element is taken twice")
	}
	k.Discard()
	if _, err := k.Put(one(1)); !errors.Is(err, ErrCancelled) {
		t.Errorf("got %v", err)
	}
}
