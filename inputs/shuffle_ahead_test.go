package inputs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// manyRows returns more rows than are gathered at once: numbers of two widths, a text and a vector.
func manyRows(t testing.TB, n int) Indexed {
	ids, halves, vectors, words := make([]int64, n), make([]float32, n), make([]float32, 3*n), make([]string, n)
	for i := range n {
		ids[i], halves[i], words[i] = int64(i), float32(i)/2, string(rune('a'+i%26))
		vectors[3*i+2] = float32(i)
	}
	ds, err := Slices(nil, Slice("id", Label, ids), Slice("half", Feature, halves), Slice("vector", Feature, vectors, 3), Strings("word", Feature, words))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestRowsOfAShuffleStayTogether: rows that are gathered page by page have their own values in each column, and come in the
// same order as row numbers.
func TestRowsOfAShuffleStayTogether(t *testing.T) {
	const rows, buffer = 3 * fewRows * shuffleAhead / 2, fewRows * shuffleAhead
	src := manyRows(t, rows)
	want := flat(ids(t, Pipe(src, Shuffle(buffer, 3), Batch(500, false))))
	it := iterate(t, Pipe(streamOf(src), Shuffle(buffer, 3), Batch(500, false)))
	var got []int64
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		id, half := rec.Column(0).(*array.Int64), rec.Column(1).(*array.Float32)
		vector, word := rec.Column(2).(*array.FixedSizeList), rec.Column(3).(*array.Binary)
		for i := range int(rec.NumRows()) {
			from, _ := vector.ValueOffsets(i)
			n, v := id.Value(i), vector.ListValues().(*array.Float32)
			if half.Value(i) != float32(n)/2 || v.Value(int(from)+2) != float32(n) || word.Value(i)[0] != byte('a'+n%26) {
				t.Fatalf("row %d has half %g, vector %g, word %s", n, half.Value(i), v.Value(int(from)+2), word.Value(i))
			}
			got = append(got, n)
		}
		rec.Release()
	}
	if !slices.Equal(got, want) {
		t.Error("a stream is shuffled into another order than row numbers")
	}
}

// TestStatesOfALargeShuffle: a state between rows that were gathered together, and a state whose snapshot was always too large,
// lead to the same rows and states.
func TestStatesOfALargeShuffle(t *testing.T) {
	ctx := context.Background()
	const rows, buffer, batch = 60_000, 50_000, 300
	ds := Pipe(streamOf(manyRows(t, rows)), Shuffle(buffer, 5), Batch(batch, false), Prefetch(2))
	whole, pieces := iterate(t, ds), iterate(t, ds)
	for i := range rows / batch {
		a, b := next(t, whole, ds.Schema()), next(t, pieces, ds.Schema())
		if a != b {
			t.Fatalf("batch %d differs after a restore", i)
		}
		if i%37 != 36 {
			continue
		}
		x, err := whole.State()
		if err != nil {
			t.Fatal(err)
		}
		y, err := pieces.State()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Fatalf("after batch %d the states differ", i)
		}
		pieces = iterate(t, ds)
		if err := pieces.Restore(y); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := whole.Next(ctx); !eof(err) {
		t.Errorf("got %v at the end", err)
	}
}

// TestSnapshotsKeepToTheirRoom: a full buffer does not fit until enough rows have passed; a requested state is complete.
func TestSnapshotsKeepToTheirRoom(t *testing.T) {
	ctx := context.Background()
	ds := adopt(Pipe(streamOf(manyRows(t, 2000)), Shuffle(1000, 5), Batch(100, false)))
	st, err := ds.open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	rec, err := st.pull(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	held := int64(1000 * (8 + 4 + 12 + 5)) // at least
	if err := st.save(&stateWriter{small: true, room: held}); !errors.Is(err, errLargeState) {
		t.Errorf("room for less than the buffer: %v", err)
	}
	if err := st.save(&stateWriter{small: true, room: 2 * held}); err != nil {
		t.Errorf("room for more than the buffer: %v", err)
	}
	if err := st.save(&stateWriter{}); err != nil {
		t.Error(err)
	}
}

// TestBuffersOfSeveralRecords: a shuffle delivers the same rows if the texts of its buffer need several records. Only its position cannot be saved.
func TestBuffersOfSeveralRecords(t *testing.T) {
	defer func(most int) { mostInColumn = most }(mostInColumn)
	ctx := context.Background()
	ds := adopt(Pipe(streamOf(manyRows(t, 8000)), Shuffle(700, 5), Batch(100, false)))
	var batches [2][]string
	for i, most := range []int{mostInColumn, 300} {
		mostInColumn = most
		st, err := ds.open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 70 { // the last rows come together
			rec, err := st.pull(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			batches[i] = append(batches[i], show(t, rec, ds.schema))
			rec.Release()
		}
		err = st.save(&stateWriter{})
		if refused := i == 1; refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "put Prefetch after the shuffle") {
			t.Errorf("up to %d bytes: saved with %v", most, err)
		}
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff(batches[0], batches[1]); d != "" {
		t.Errorf("%.400s", d)
	}
	cached := Pipe(streamOf(manyRows(t, 1000)), Cache(), Batch(30, false))
	if got := flat(ids(t, cached)); len(got) != 1000 || got[0] != 0 || got[999] != 999 || !slices.IsSorted(got) {
		t.Errorf("cached: %d rows, %v", len(got), got)
	}
}

// TestRowBytesAddUp: the bytes of a record's parts add up to the bytes of the whole.
func TestRowBytesAddUp(t *testing.T) {
	it := iterate(t, Pipe(manyRows(t, 100), Batch(100, false)))
	rec, err := it.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if got, want := rowBytes(rec), int64(100*(8+4+12+4+1)); got != want {
		t.Errorf("got %d bytes, expected %d", got, want)
	}
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Int64Range(0, 99).Draw(rt, "from")
		to := rapid.Int64Range(from, 100).Draw(rt, "to")
		cut := rapid.Int64Range(from, to).Draw(rt, "cut")
		sum := int64(0)
		for _, part := range [][2]int64{{0, from}, {from, cut}, {cut, to}, {to, 100}} {
			s := rec.NewSlice(part[0], part[1])
			sum += rowBytes(s)
			s.Release()
		}
		if sum != rowBytes(rec) {
			rt.Fatalf("parts at %d, %d and %d have %d bytes", from, cut, to, sum)
		}
	})
}

// TestTheLastRowsAreGatheredTogether: once no more rows come, the remaining rows are gathered at once, if the memory limit allows
// a second copy of them.
func TestTheLastRowsAreGatheredTogether(t *testing.T) {
	const rows, buffer = 60_000, 50_000
	src := streamOf(manyRows(t, rows))
	want := flat(ids(t, Pipe(src, Shuffle(buffer, 5), Batch(300, false))))
	all := int64(buffer * (8 + 4 + 12 + 5))
	for _, limit := range []int64{0, 2 * all, 4 * all} {
		ctx := context.Background()
		if limit > 0 {
			ctx = newBudget(limit).in(ctx)
		}
		st, err := adopt(Pipe(src, Shuffle(buffer, 5))).open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := st.(*shuffleStage)
		var got []int64
		most := int64(0) // rows that are contiguous in the stage
		for {
			rec, err := st.pull(ctx, 300)
			if eof(err) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rec.Column(0).(*array.Int64).Int64Values()...)
			rec.Release()
			if s.rest != nil && s.done {
				most = max(most, s.rest.NumRows())
			}
		}
		if err := st.close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: another order", limit)
		}
		if whole := most > buffer*9/10; whole != (limit != 2*all) {
			t.Errorf("limit %d: %d of %d rows were gathered at once at the end", limit, most, buffer)
		}
	}
}
