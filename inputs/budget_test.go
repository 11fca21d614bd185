package inputs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// under reads all ids of a pipeline whose steps share the budget b.
func under(t testing.TB, b *budget, ds Dataset) []int64 {
	t.Helper()
	ctx := b.in(t.Context())
	it, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for {
		rec, err := it.Next(ctx)
		if eof(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumCols()) {
			if ids, ok := rec.Column(i).(*array.Int64); ok {
				out = append(out, ids.Int64Values()...)
			}
		}
		rec.Release()
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if b.used != 0 {
		t.Errorf("%d bytes are held at the end", b.used)
	}
	return out
}

// TestBudgetKeepsOrder: a budget changes neither rows nor order, and is exceeded by at most one record per step.
func TestBudgetKeepsOrder(t *testing.T) {
	before := goleak.IgnoreCurrent()
	const row = 16 // bytes
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(rt, "rows")
		steps, largest := 0, rapid.IntRange(1, 5).Draw(rt, "first batch")
		ds := Batch(largest, false)(streamOf(numbers(t, memory.DefaultAllocator, n)))
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				ds, steps = Prefetch(rapid.IntRange(1, 20).Draw(rt, "depth"))(ds), steps+1
			case 1:
				ds, steps = AutoPrefetch()(ds), steps+1
			case 2:
				ds, steps = ParallelMap(double(), rapid.IntRange(1, 4).Draw(rt, "workers"))(ds), steps+1
			case 3:
				size := rapid.IntRange(1, 40).Draw(rt, "batch")
				ds, largest = Batch(size, false)(ds), max(largest, size)
			case 4:
				ds = Zip(Pipe(ds, Project("x"), Prefetch(3)), Pipe(ds, Project("id"), AutoPrefetch()))
				steps = 2*steps + 2
			}
		}
		free, bound := newBudget(1<<40), newBudget(int64(rapid.IntRange(1, 200).Draw(rt, "limit")*row))
		want, got := under(t, free, ds), under(t, bound, ds)
		if d := cmp.Diff(want, got); d != "" || len(got) != n {
			rt.Fatalf("%d of %d rows (-free +bound):\n%s", len(got), n, d)
		}
		if most := bound.limit + int64(steps*largest*row); bound.most > most {
			rt.Fatalf("%d bytes were held, expected up to %d", bound.most, most)
		}
	})
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// TestBudgetBoundsGrowth: records that a map makes much larger count with their new size.
func TestBudgetBoundsGrowth(t *testing.T) {
	const width, rows = 1000, 60
	wide, err := NewSchema(Column{Name: "x", DType: tensor.Float32, Shape: []int{width}}, Column{Name: "id", DType: tensor.Int64})
	if err != nil {
		t.Fatal(err)
	}
	grow := Mapper{Name: "grow", Schema: func(*Schema) (*Schema, error) { return wide, nil }, Map: func(_ context.Context, in arrow.Record, to Rows) (arrow.Record, error) {
		x, id := newBuffer(to.Allocator, 4*width*int(in.NumRows())), newBuffer(to.Allocator, 8*int(in.NumRows()))
		defer x.Release()
		defer id.Release()
		copy(id.Bytes(), values(peek(in, 1)))
		return recordOf(wide.Arrow(), int(in.NumRows()), x, id), nil
	}}
	b := newBudget(3 * 4 * width)
	got := under(t, b, Pipe(streamOf(numbers(t, memory.DefaultAllocator, rows)), Batch(1, false), ParallelMap(grow, 8), AutoPrefetch()))
	if !cmp.Equal(seq(rows), got) {
		t.Errorf("got %v", got)
	}
	if most := b.limit + 2*(4*width+8); b.most > most {
		t.Errorf("%d bytes were held, expected up to %d", b.most, most)
	}
}

// TestBudgetOfBlocks: blocks parsed ahead wait for memory, and the rows are the same.
func TestBudgetOfBlocks(t *testing.T) {
	const rows = 150_000 // four blocks
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "%d,%d\n", i%7, i)
	}
	ds, err := CSV([]string{write(t, "t.csv", []byte(text.String()))}, CSVOptions{Columns: []ColumnSpec{{Name: "x"}, {Name: "id", DType: "int64"}}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBudget(1)
	if got := under(t, b, ds); !cmp.Equal(seq(rows), got) {
		t.Errorf("%d rows, or in another order", len(got))
	}
	if b.most > 2*blockBytes {
		t.Errorf("%d bytes were held, expected those of a block", b.most)
	}
}

// TestMemoryLimitOfShuffle: the error of a buffer that does not fit says how much memory is enough.
func TestMemoryLimitOfShuffle(t *testing.T) {
	testkit.NotConcurrent(t)
	const rows = 400_000 // of 16 bytes
	ds := streamOf(numbers(t, memory.DefaultAllocator, rows))
	shuffled := Pipe(ds, Shuffle(rows/2, 1), Batch(1000, false), AutoPrefetch())
	read := func(mib int64) ([]int64, error) {
		it := iterate(t, MemoryLimit(mib<<20)(shuffled))
		var out []int64
		for {
			rec, err := it.Next(t.Context())
			if eof(err) {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
			out = append(out, rec.Column(1).(*array.Int64).Int64Values()...)
			rec.Release()
		}
	}
	_, err := read(2)
	if err == nil || !strings.Contains(err.Error(), "shuffle buffer of 200000 rows needs about 7 MiB, and memory_mb allows 2 MiB: raise memory_mb") {
		t.Fatalf("got %v", err)
	}
	got, err := read(7)
	if err != nil {
		t.Fatal(err)
	}
	if want := under(t, newBudget(1<<40), shuffled); !cmp.Equal(want, got) {
		t.Error("another order")
	}
	if _, err := Pipe(ds, Cache(), Shuffle(10, 1), MemoryLimit(1<<20)).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "need more than 1 MiB") {
		t.Errorf("cache: got %v", err)
	}
	if _, err := MemoryLimit(0)(ds).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "must be positive") {
		t.Errorf("no limit: got %v", err)
	}
}

// TestMemoryOfConfigs: the limit in a config is the budget of its pipeline.
func TestMemoryOfConfigs(t *testing.T) {
	testkit.NotConcurrent(t)
	s := Spec{Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte(strings.Repeat(`{"x":1,"id":7}`+"\n", 200_000)))}, Columns: streamSpec("jsonl").Columns, BatchSize: 64,
		Shuffle: 150_000, Prefetch: -1, Transforms: []TransformSpec{{Kind: "skip", Rows: 1}}, MemoryMB: 1}
	if err := readAll(s, Context{Mode: Train}); err == nil || !strings.Contains(err.Error(), "needs about 4 MiB, and memory_mb allows 1 MiB") {
		t.Errorf("got %v", err)
	}
	s.MemoryMB, s.BatchSize = 4, 4096
	ds, err := Open(t.Context(), s, Context{Mode: Train})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(flat(ids(t, ds))); got != 199_999 {
		t.Errorf("%d rows", got)
	}
	s.MemoryMB = -1
	if err := readAll(s, Context{Mode: Train}); err == nil || !strings.Contains(err.Error(), "memory_mb: got -1") {
		t.Errorf("got %v", err)
	}
}

// TestMemoryLimitIsNoStep: a position saved without a limit can be restored with one, and vice versa.
func TestMemoryLimitIsNoStep(t *testing.T) {
	free := Pipe(streamOf(numbers(t, memory.DefaultAllocator, 90)), Repeat(3), Batch(4, false), ParallelMap(double(), 2), AutoPrefetch())
	bound := MemoryLimit(1)(free)
	for _, pair := range [][2]Dataset{{free, bound}, {bound, free}} {
		it := iterate(t, pair[0])
		for range 40 {
			takeOne(t, it)
		}
		state, err := it.State()
		if err != nil {
			t.Fatal(err)
		}
		again := iterate(t, pair[1])
		if err := again.Restore(state); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(drain(t, it, free.Schema(), 100), drain(t, again, free.Schema(), 100)); d != "" {
			t.Errorf("(-saved +restored):\n%s", d)
		}
	}
}

// TestBudgetWaits: a step that waits for memory stops with its pass.
func TestBudgetWaits(t *testing.T) {
	b := newBudget(10)
	h := holder{of: b}
	if waited, ok := h.take(100, nil); waited || !ok {
		t.Fatal("the first record has to wait")
	}
	stop := make(chan struct{})
	close(stop)
	if waited, ok := h.take(1, stop); !waited || ok {
		t.Error("there was room")
	}
	done := make(chan bool)
	go func() { _, ok := h.take(5, nil); done <- ok }()
	h.add(-100)
	if !<-done || b.used != 5 || b.most != 100 {
		t.Errorf("%d bytes are held, of at most %d", b.used, b.most)
	}
}

// TestDepthTuner: the depth doubles when a full queue ran empty, up to its bounds, and falls to what fits.
func TestDepthTuner(t *testing.T) {
	burst := func(d *depthTuner, bytes int64) int {
		for d.entered(bytes) {
		}
		for d.ahead > 0 {
			d.leave(d.ahead == 1)
		}
		return d.depth
	}
	d := newDepthTuner(2, nil)
	for _, want := range []int{4, 8, 16, 16} {
		if got := burst(d, 100); got != want {
			t.Errorf("got depth %d, expected %d", got, want)
		}
	}
	d.ahead = 3
	d.spent()
	if d.depth != 3 {
		t.Errorf("got depth %d, expected what is ahead", d.depth)
	}
	if got := burst(newDepthTuner(2, newBudget(390)), 100); got != 2 {
		t.Errorf("got depth %d, for which there is no room", got)
	}
	d = newDepthTuner(2, nil)
	d.entered(1)
	d.leave(true)
	if d.depth != 2 {
		t.Error("the depth grew though it was never reached")
	}
	stop := make(chan struct{})
	close(stop)
	d.ahead = 2
	if d.enter(1, stop) {
		t.Error("there was room")
	}
}
