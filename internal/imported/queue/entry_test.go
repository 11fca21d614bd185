package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestEntriesArePaid: the memory of slots for a key's missing tensors is counted, and given back.
func TestEntriesArePaid(t *testing.T) {
	const width, keys = 10_000, 100
	ctx, room := context.Background(), NewRoom(keys/2*8*width)
	m := NewStagingMap(width, Limits{Room: room})
	types, shapes := make([]tensor.DType, width), make([][]int, width)
	for i := range types {
		types[i], shapes[i] = tensor.Float32, []int{}
	}
	b := NewBarrier("b", BarrierSpec{Types: types, Shapes: shapes, Room: room})
	for name, c := range map[string]struct {
		put   func(k int) error
		clear func()
	}{
		"map":     {func(k int) error { return m.Put(ctx, int64(k), []int{k}, one(1)) }, m.Clear},
		"barrier": {func(k int) error { return b.Insert(ctx, k, [][]byte{fmt.Append(nil, k)}, one(1)) }, b.Discard},
	} {
		var err error
		for k := 0; k < keys && err == nil; k++ {
			err = c.put(k)
		}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: expected no room for %d keys of %d places, got %v", name, keys, width, err)
		}
		if c.clear(); room.Used() != 0 {
			t.Errorf("%s: %d bytes are left", name, room.Used())
		}
	}
}

// TestStagingOfNothing: elements without tensors are refused, as they would cost nothing.
func TestStagingOfNothing(t *testing.T) {
	l := Limits{Room: NewRoom(1 << 20)}
	if NewStaging(l).Put(t.Context(), nil) == nil || NewStagingMap(1, l).Put(t.Context(), 1, nil, nil) == nil {
		t.Error("an element of no tensors was accepted")
	}
}
