package inputs

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestMark: a mark gives the state at its time, even after the pass has continued or ended.
func TestMark(t *testing.T) {
	for name, ds := range pipelines(numbers(t, memory.NewGoAllocator(), 900), 8) {
		it := iterate(t, ds)
		var marks []func() []byte
		var states [][]byte
		for {
			mark, err := Mark(it)
			if err != nil {
				t.Fatal(name, err)
			}
			state, err := it.State()
			if err != nil {
				t.Fatal(name, err)
			}
			marks, states = append(marks, mark), append(states, state)
			rec, err := it.Next(t.Context())
			if eof(err) {
				break
			}
			if err != nil {
				t.Fatal(name, err)
			}
			rec.Release()
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		if len(states) < 30 {
			t.Errorf("%s: only %d positions", name, len(states))
		}
		for i, mark := range marks {
			if !bytes.Equal(mark(), states[i]) || !bytes.Equal(mark(), states[i]) {
				t.Fatalf("%s: the mark before record %d is of another position", name, i)
			}
		}
		if _, err := Mark(it); err != ErrClosed {
			t.Errorf("%s, closed: expected ErrClosed, got %v", name, err)
		}
	}
}

// BenchmarkPosition measures Mark for a shuffled data set of MNIST's size.
func BenchmarkPosition(b *testing.B) {
	ds, err := Slices(memory.NewGoAllocator(), Slice("x", Feature, make([]float32, 60000)))
	if err != nil {
		b.Fatal(err)
	}
	it, err := Pipe(ds, Shuffle(60000, 1), Repeat(-1), Batch(128, true), Prefetch(2)).Iterate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	rec.Release()
	for range 40 { // beyond a snapshot
		if rec, err = it.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		rec.Release()
	}
	b.Run("state", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := it.State(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mark", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Mark(it); err != nil {
				b.Fatal(err)
			}
		}
	})
}
