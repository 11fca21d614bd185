package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

// trackingMemory is a BatchMemory that fills memory with garbage before and after its
// use, and reuses a small amount of it.
type trackingMemory struct {
	mu        sync.Mutex
	free      map[int][][]byte
	allocated map[*byte][]byte
	made      int
}

func newTrackingMemory() *trackingMemory {
	return &trackingMemory{free: map[int][][]byte{}, allocated: map[*byte][]byte{}}
}

func (l *trackingMemory) Allocate(size int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size == 0 {
		return nil
	}
	var b []byte
	if f := l.free[size]; len(f) > 0 {
		b, l.free[size] = f[len(f)-1], f[:len(f)-1]
	} else {
		b = memory.NewGoAllocator().Allocate(size)
		l.made++
	}
	for i := range b {
		b[i] = 0xA5
	}
	l.allocated[unsafe.SliceData(b)] = b
	return b
}

func (l *trackingMemory) Reallocate(size int, b []byte) []byte {
	n := l.Allocate(size)
	copy(n, b)
	l.Free(b)
	return n
}

func (l *trackingMemory) Free(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b) == 0 {
		return
	}
	whole, ok := l.allocated[unsafe.SliceData(b)]
	if !ok {
		panic("freed what was not lent, or twice")
	}
	delete(l.allocated, unsafe.SliceData(b))
	for i := range whole {
		whole[i] = 0x5A
	}
	l.free[len(whole)] = append(l.free[len(whole)], whole)
}

func (l *trackingMemory) Prefers(b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for p, whole := range l.allocated {
		if from := uintptr(unsafe.Pointer(p)); at >= from && at < from+uintptr(len(whole)) {
			return false
		}
	}
	return true
}

// outstanding returns the number of allocations that were not released.
func (l *trackingMemory) outstanding() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.allocated)
}

// pipelines returns pipelines that end in each of the steps that make or pass on batches.
func pipelines(ds Dataset, size int) map[string]Dataset {
	return map[string]Dataset{
		"views":        Pipe(ds, Batch(size, false), Prefetch(2)),
		"shuffle":      Pipe(ds, Shuffle(30, 3), Repeat(2), Batch(size, false), Prefetch(1)),
		"no prefetch":  Pipe(ds, Shuffle(30, 3), Repeat(2), Batch(size, true)),
		"parallel map": Pipe(ds, Shuffle(9, 3), Batch(size, false), ParallelMap(double(), 3), Prefetch(2)),
		"map":          Pipe(ds, Shuffle(9, 3), Map(double()), Batch(size, false), Prefetch(2)),
		"map last":     Pipe(ds, Batch(size, false), Map(double())),
		"cut":          Pipe(ds, Batch(3*size, false), Prefetch(1), Batch(size, false), Prefetch(1)),
		"filter":       Pipe(ds, Filter("most", mostRows), Batch(size, false), Prefetch(1)),
		"cached":       Pipe(ds, Cache(), Repeat(2), Shuffle(7, 1), Batch(size, false), Prefetch(1)),
		"a stranger":   Pipe(opaqueDataset{Pipe(ds, Shuffle(9, 3), Batch(size, false))}, Prefetch(2)),
	}
}

func mostRows(_ context.Context, _ arrow.Record, keep []bool) error {
	for i := range keep {
		keep[i] = i%5 != 3
	}
	return nil
}

// TestBatchMemory: passes deliver the same rows in batch memory that holds garbage outside
// its use, even if the consumer holds several batches, stops early or goes
// back. Dense columns are in that memory, and all of it is released.
func TestBatchMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src, _ := drawSource(t, rt)
		size, hold := rapid.IntRange(1, 20).Draw(rt, "size"), rapid.IntRange(1, 4).Draw(rt, "hold")
		stop := rapid.IntRange(0, 40).Draw(rt, "stop")
		for name, ds := range pipelines(src, size) {
			mem := newTrackingMemory()
			it, err := ds.Iterate(WithBatchMemory(context.Background(), mem))
			if err != nil {
				rt.Fatal(name, err)
			}
			want := drain(t, iterate(t, ds), ds.Schema(), stop)
			got := holding(t, it, consumer{ds.Schema(), stop, hold, mem, name != "map last" && name != "no prefetch"})
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("%s: %s", name, d)
			}
			if err := it.Close(); err != nil || mem.outstanding() != 0 {
				rt.Fatalf("%s: %v, %d pieces were not given back", name, err, mem.outstanding())
			}
		}
	})
}

// consumer reads batches and prints each one after reading more.
type consumer struct {
	schema     *Schema
	stop, hold int
	mem        *trackingMemory
	there      bool // all dense columns are in mem
}

func holding(t *testing.T, it Iterator, c consumer) (out []string) {
	var held []arrow.Record
	for n := 0; n < c.stop; n++ {
		rec, err := it.Next(context.Background())
		if eof(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.there && prefers(c.mem, rec) {
			t.Fatal("a column is not in batch memory")
		}
		if held = append(held, rec); len(held) == c.hold {
			out = append(out, show(t, held[0], c.schema))
			held[0].Release()
			held = held[1:]
		}
	}
	for _, rec := range held {
		out = append(out, show(t, rec, c.schema))
		rec.Release()
	}
	return out
}

// TestBatchMemoryIsReused: a pass over many batches needs memory only for the batches in
// flight.
func TestBatchMemoryIsReused(t *testing.T) {
	for name, ds := range pipelines(numbers(t, memory.NewGoAllocator(), 4000), 8) {
		mem := newTrackingMemory()
		it, err := ds.Iterate(WithBatchMemory(context.Background(), mem))
		if err != nil {
			t.Fatal(err)
		}
		n := len(drain(t, it, ds.Schema(), 1000))
		if err := it.Close(); err != nil || n < 200 || mem.made > 64 {
			t.Errorf("%s: %v, %d batches took %d pieces of memory", name, err, n, mem.made)
		}
	}
}

// TestBatchMemoryIsReleasedAfterErrors: a mapper fails in the middle, and the records are released
// late.
func TestBatchMemoryIsReleasedAfterErrors(t *testing.T) {
	broken := errors.New("broken")
	failing := Mapper{Name: "failing", Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		if rows.First >= 40 {
			return nil, broken
		}
		in.Retain()
		return in, nil
	}}
	for name, steps := range map[string][]Transform{
		"parallel": {Batch(8, false), ParallelMap(failing, 3), Prefetch(2)},
		"map":      {Batch(8, false), Map(failing), Prefetch(2)},
	} {
		mem := newTrackingMemory()
		it, err := Pipe(numbers(t, memory.NewGoAllocator(), 100), steps...).Iterate(WithBatchMemory(t.Context(), mem))
		if err != nil {
			t.Fatal(err)
		}
		var held []arrow.Record
		for err == nil {
			var rec arrow.Record
			if rec, err = it.Next(t.Context()); err == nil {
				held = append(held, rec)
			}
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: expected the mapper's error, got %v", name, err)
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		if len(held) == 0 || mem.outstanding() == 0 {
			t.Errorf("%s: expected records in batch memory", name)
		}
		releaseAll(held)
		if n := mem.outstanding(); n != 0 {
			t.Errorf("%s: %d pieces were not given back", name, n)
		}
	}
}

// TestKeptColumnsAreNotOverwritten: a caller that asks a record in batch memory for a
// column may keep the column.
func TestKeptColumnsAreNotOverwritten(t *testing.T) {
	mem := newTrackingMemory()
	it, err := Pipe(numbers(t, memory.NewGoAllocator(), 100), Batch(10, false), Prefetch(1)).Iterate(WithBatchMemory(t.Context(), mem))
	if err != nil {
		t.Fatal(err)
	}
	var columns []arrow.Array
	for {
		rec, err := it.Next(t.Context())
		if eof(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := rec.Column(1)
		c.Retain()
		columns = append(columns, c)
		rec.Release()
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	for i, c := range columns {
		want := arrow.Int64Traits.CastToBytes(slices.Collect(func(yield func(int64) bool) {
			for k := range 10 {
				if !yield(int64(10*i + k)) {
					return
				}
			}
		}))
		if got := values(c); !bytes.Equal(got, want) {
			t.Errorf("batch %d: got %x", i, got)
		}
		c.Release()
	}
	if n := mem.outstanding(); n != 0 {
		t.Errorf("%d pieces were not given back", n)
	}
}

// TestCopyOddColumns: strings, lists and nulls are copied unchanged, even from views of
// rows.
func TestCopyOddColumns(t *testing.T) {
	ds := oddColumns(t)
	mem := newTrackingMemory()
	for _, steps := range [][]Transform{{Batch(3, false), Prefetch(1)}, {Shuffle(4, 1), Batch(3, false), Prefetch(1)}} {
		p := Pipe(ds, steps...)
		it, err := p.Iterate(WithBatchMemory(t.Context(), mem))
		if err != nil {
			t.Fatal(err)
		}
		want := drain(t, iterate(t, p), p.Schema(), 100)
		if d := cmp.Diff(want, drain(t, it, p.Schema(), 100)); d != "" || len(want) == 0 {
			t.Errorf("%d batches: %s", len(want), d)
		}
		if err := it.Close(); err != nil || mem.outstanding() != 0 {
			t.Error(err, mem.outstanding())
		}
	}
}

// TestCopyKeepsNulls: a null in a column is an error that names its row, in any memory.
func TestCopyKeepsNulls(t *testing.T) {
	s, rec := nullRecord(t)
	defer rec.Release()
	ds, err := Records(s, []arrow.Record{rec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	it, err := Pipe(ds, Batch(4, false), Prefetch(1)).Iterate(WithBatchMemory(t.Context(), newTrackingMemory()))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	got, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	_, err = Tensors(got, s)
	_, want := Tensors(rec, s)
	if want == nil || fmt.Sprint(err) != fmt.Sprint(want) {
		t.Errorf("expected %v, got %v", want, err)
	}
}

// TestCopyAllocatesNothing: copies to batch memory in the background use frames.
func TestCopyAllocatesNothing(t *testing.T) {
	ds := numbers(t, memory.NewGoAllocator(), 64)
	mem := newTrackingMemory()
	s := newBatchCopier(mem, ds.Schema())
	ix := ds.(*indexedNode)
	rec, err := ix.Gather(t.Context(), seq(64))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if n := testing.AllocsPerRun(100, func() {
		rec.Retain()
		out, err := s.copyRecord(rec)
		if err != nil {
			t.Fatal(err)
		}
		out.Release()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	s.close()
	if n := mem.outstanding(); n != 0 {
		t.Errorf("%d pieces were not given back", n)
	}
}

// oddColumns is a data set of strings, lists of numbers, booleans and numbers.
func oddColumns(t *testing.T) Dataset {
	t.Helper()
	var lines bytes.Buffer
	for i := range 20 {
		fmt.Fprintf(&lines, `{"word": "w%d", "list": %s, "yes": %t, "x": %d}`+"\n", i, []string{"[]", "[1, 2]", "[7]"}[i%3], i%2 == 0, i)
	}
	ds, err := JSONL([]string{write(t, "odd.jsonl", lines.Bytes())}, ArrowOptions{Columns: []ColumnSpec{
		{Name: "word", DType: "string"}, {Name: "list", DType: "int64", Ragged: true}, {Name: "yes", DType: "bool"}, {Name: "x", DType: "float32"}}})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// nullRecord returns a record with a null inside a fixed-size list.
func nullRecord(t *testing.T) (*Schema, arrow.Record) {
	t.Helper()
	s, err := NewSchema(Column{Name: "x", DType: tensor.Float32, Shape: []int{2}, Role: Feature})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s.Arrow())
	defer b.Release()
	list := b.Field(0).(*array.FixedSizeListBuilder)
	for i := range 4 {
		list.Append(true)
		v := list.ValueBuilder().(*array.Float32Builder)
		v.Append(1)
		if i == 2 {
			v.AppendNull()
		} else {
			v.Append(2)
		}
	}
	return s, b.NewRecord()
}
