package inputs

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// failAfter returns the records of a data set as frames whose memory is overwritten
// on release: a stage that still reads one gets garbage.
type failAfter struct{ Dataset }

func (p failAfter) Iterate(ctx context.Context) (Iterator, error) { return p.IterateEpoch(ctx, 0) }

func (p failAfter) IterateEpoch(ctx context.Context, epoch int64) (Iterator, error) {
	open := func() (Iterator, error) { return p.Dataset.Iterate(ctx) }
	if e, ok := p.Dataset.(Epoched); ok {
		open = func() (Iterator, error) { return e.IterateEpoch(ctx, epoch) }
	}
	it, err := open()
	if err != nil {
		return nil, err
	}
	return &poisonedIterator{it}, nil
}

type poisonedIterator struct{ Iterator }

func (it *poisonedIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	columns := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		if columns[i], err = array.Concatenate([]arrow.Array{c}, memory.NewGoAllocator()); err != nil {
			return nil, err
		}
	}
	f := &Frame{}
	f.Reset(rec.Schema(), columns, rec.NumRows(), func() {
		for _, c := range columns {
			testkit.Overwrite(c.Data())
		}
	})
	return f, nil
}

// TestStagesRelease: in any combination, no stage reads a record that it has released,
// and no stage releases a record that is still held.
func TestStagesRelease(t *testing.T) {
	same := Mapper{Name: "same", Map: func(_ context.Context, rec arrow.Record, _ Rows) (arrow.Record, error) {
		rec.Retain()
		return rec, nil
	}}
	stages := map[string]func(n int) Transform{
		"batch":        func(n int) Transform { return Batch(n, false) },
		"cache":        func(int) Transform { return Cache() },
		"filter":       func(n int) Transform { return Filter("odd", keepSome(n)) },
		"map":          func(int) Transform { return Map(same) },
		"parallel map": func(n int) Transform { return ParallelMap(same, n) },
		"prefetch":     func(n int) Transform { return Prefetch(n) },
		"project":      func(int) Transform { return Project("id") },
		"repeat":       func(int) Transform { return Repeat(2) },
		"shard":        func(int) Transform { return Shard(1, 2) },
		"shuffle":      func(n int) Transform { return Shuffle(4*n, 7) },
		"skip":         func(n int) Transform { return Skip(int64(n)) },
		"take":         func(n int) Transform { return Take(int64(10 * n)) },
	}
	names := slices.Sorted(maps.Keys(stages))
	rapid.Check(t, func(rt *rapid.T) {
		source, _ := drawSource(t, rt)
		plain, poisonous := streamOf(source), Dataset(failAfter{streamOf(source)})
		for range rapid.IntRange(1, 4).Draw(rt, "stages") {
			s := stages[rapid.SampledFrom(names).Draw(rt, "stage")](rapid.IntRange(1, 9).Draw(rt, "size"))
			plain, poisonous = Pipe(plain, s), failAfter{Pipe(poisonous, s)}
		}
		plain, poisonous = Pipe(plain, Batch(5, false)), failAfter{Pipe(poisonous, Batch(5, false))}
		for pass := range 2 { // the second pass over a cache differs
			if diff := cmp.Diff(passOf(t, plain), passOf(t, poisonous)); diff != "" {
				rt.Fatalf("pass %d: %s", pass, diff)
			}
		}
	})
}

// passOf returns a pass in a printable form, including the error at its beginning or end.
func passOf(t *testing.T, ds Dataset) (out []string) {
	it, err := ds.Iterate(context.Background())
	if err != nil { // there is nothing to cache
		return []string{err.Error()}
	}
	defer func() {
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		rec, err := it.Next(context.Background())
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, show(t, rec, ds.Schema()))
		rec.Release()
	}
}

// keepSome drops every n+1-th row.
func keepSome(n int) FilterFunc {
	return func(_ context.Context, rec arrow.Record, keep []bool) error {
		at := rec.Schema().FieldIndices("id")[0]
		for i, id := range peek(rec, at).(*array.Int64).Int64Values() {
			keep[i] = int(id)%(n+1) != 0
		}
		return nil
	}
}
