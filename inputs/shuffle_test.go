package inputs

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// TestRestoredRowNumbers: a shuffle buffer holds rows before its position, and a
// state with other rows is refused. Each number is tested at its limit and beyond
// it.
func TestRestoredRowNumbers(t *testing.T) {
	const rows, buffer = 10, 4
	for name, c := range map[string]struct {
		position int64
		keep     []int64
		bad      bool
	}{
		"nothing read":         {position: 0},
		"first and last":       {position: 6, keep: []int64{0, 5}},
		"at the end":           {position: rows, keep: []int64{9, 2, 7, 4}},
		"the position":         {position: 6, keep: []int64{0, 6}, bad: true},
		"the number of rows":   {position: rows, keep: []int64{rows}, bad: true},
		"below 0":              {position: 6, keep: []int64{-1}, bad: true},
		"row before the first": {position: 0, keep: []int64{0}, bad: true},
		"beyond the rows":      {position: rows + 1, bad: true},
		"more than the buffer": {position: rows, keep: []int64{0, 1, 2, 3, 4}, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			src := numbers(t, memory.DefaultAllocator, rows)
			w := &stateWriter{}
			if err := (&indexStore{src: src, pos: c.position}).save(w, c.keep); err != nil {
				t.Fatal(err)
			}
			s := &indexStore{src: src}
			// The remaining bytes may belong to later stages, so they do not bound the number
			// of rows.
			keep, err := s.load(context.Background(), &stateReader{buf: append(w.all(), make([]byte, 100)...)}, buffer)
			if c.bad {
				if !errors.Is(err, ErrBadState) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if d := cmp.Diff(c.keep, keep); err != nil || len(c.keep) > 0 && d != "" || s.pos != c.position {
				t.Fatalf("position %d, %v: %s", s.pos, err, d)
			}
		})
	}
}

// TestShuffleRestoredAfterItsEnd: a pass that has ended and goes back to an earlier position delivers all rows from there.
func TestShuffleRestoredAfterItsEnd(t *testing.T) {
	for _, buffer := range []int{1, 4} {
		ds := Pipe(streamOf(numbers(t, checked(t), 10)), Shuffle(buffer, 1), Batch(1, false))
		it := iterate(t, ds)
		for range 3 {
			next(t, it, ds.Schema())
		}
		state, err := it.State()
		if err != nil {
			t.Fatal(err)
		}
		want := drain(t, it, ds.Schema(), 100)
		if err := it.Restore(state); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, drain(t, it, ds.Schema(), 100)); d != "" || len(want) != 7 {
			t.Errorf("buffer %d: %d rows, %s", buffer, len(want), d)
		}
	}
}
