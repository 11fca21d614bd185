package inputs

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/google/go-cmp/cmp"
)

// interrupted is a data set whose Next fails every other time, as if its
// context had ended, but loses no record.
type interrupted struct{ Dataset }

func (d interrupted) Iterate(ctx context.Context) (Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return &interruptedIterator{Iterator: it}, err
}

type interruptedIterator struct {
	Iterator
	calls int
}

func (it *interruptedIterator) Next(ctx context.Context) (arrow.Record, error) {
	if it.calls++; it.calls%2 == 0 {
		return nil, context.Canceled
	}
	return it.Iterator.Next(ctx)
}

// patient reads a pass and repeats interrupted calls. It checks that the state in
// between leads to the same record.
func patient(t *testing.T, ds Dataset) []string {
	t.Helper()
	it := iterate(t, ds)
	var out []string
	for range 1000 {
		rec, err := it.Next(context.Background())
		if errors.Is(err, context.Canceled) {
			if state, err := it.State(); err != nil {
				t.Fatal(err)
			} else if err := it.Restore(state); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if eof(err) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, show(t, rec, ds.Schema()))
		rec.Release()
	}
	t.Fatal("no end")
	return nil
}

// TestRestoringReadsLittleAgain: reading ahead takes snapshots, and a restored pass starts from
// the last one.
func TestRestoringReadsLittleAgain(t *testing.T) {
	var made atomic.Int64
	count := Mapper{Name: "count", Map: func(_ context.Context, rec arrow.Record, _ Rows) (arrow.Record, error) {
		made.Add(1)
		rec.Retain()
		return rec, nil
	}}
	ds := Pipe(numbers(t, checked(t), 400), Batch(1, false), Map(count), Prefetch(2))
	it := iterate(t, ds)
	for range 10*snapshotEvery + 5 {
		next(t, it, ds.Schema())
	}
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	again := iterate(t, ds)
	made.Store(0)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	got := next(t, again, ds.Schema())
	n := made.Load()
	if want := next(t, it, ds.Schema()); got != want {
		t.Errorf("the next record is %s, expected %s", got, want)
	}
	if n > 2*snapshotEvery {
		t.Errorf("%d records were read again, expected at most one of %d and what is read ahead", n, snapshotEvery)
	}
}

func TestInterruptionsLoseNothing(t *testing.T) {
	mem := checked(t)
	src := Pipe(numbers(t, mem, 40), Batch(3, false))
	flaky := double()
	calls := 0
	flaky.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		if calls++; calls%3 == 0 {
			return nil, context.Canceled
		}
		return double().Map(ctx, in, rows)
	}
	for name, steps := range map[string][]Transform{
		"batch": {Batch(8, false)}, "shuffle": {Shuffle(10, 1), Batch(4, false)}, "filter": {Filter("odd", odd), Batch(4, true)},
		"repeat": {Repeat(2), Batch(7, false)}, "select": {Fold(3, 0, false), Skip(2), Take(20)}, "map": {Map(double()), Batch(5, false)},
	} {
		want := drain(t, iterate(t, Pipe(src, steps...)), src.Schema(), 1000)
		if d := cmp.Diff(want, patient(t, Pipe(interrupted{src}, steps...))); d != "" {
			t.Errorf("%s (-want +got):\n%.400s", name, d)
		}
	}
	want := drain(t, iterate(t, Pipe(src, Map(double()), Batch(4, false))), src.Schema(), 1000)
	if d := cmp.Diff(want, patient(t, Pipe(src, Map(flaky), Batch(4, false)))); d != "" {
		t.Errorf("failing mapper (-want +got):\n%.400s", d)
	}
}

// TestCallsWithContextsOfTheirOwn: what a call opens, such as the next epoch or input, outlives that call's context.
func TestCallsWithContextsOfTheirOwn(t *testing.T) {
	mem := checked(t)
	src := func() Dataset { return Pipe(numbers(t, mem, 10), Batch(3, false), Map(double()), Prefetch(1)) }
	fed := must[Dataset](t)(FromFunc(func(ctx context.Context) iter.Seq2[struct{ ID int64 }, error] {
		return func(yield func(struct{ ID int64 }, error) bool) {
			for i := range int64(10) {
				if ctx.Err() != nil || !yield(struct{ ID int64 }{i}, nil) {
					return
				}
			}
		}
	}, ArrowOptions{Allocator: mem}))
	for name, ds := range map[string]Dataset{
		"repeat": Pipe(src(), Repeat(3)), "concatenate": Concatenate(src(), src(), src()), "interleave": Interleave(2, 2, src(), src(), src()), "function": Pipe(fed, Repeat(3), Batch(4, false)),
	} {
		it := iterate(t, ds)
		rows := int64(0)
		for {
			ctx, cancel := context.WithCancel(t.Context())
			rec, err := it.Next(ctx)
			cancel()
			if eof(err) {
				break
			}
			if err != nil {
				t.Fatalf("%s, after %d rows: %v", name, rows, err)
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows != 30 {
			t.Errorf("%s: %d rows, expected 30", name, rows)
		}
	}
}

// TestCancelledWaitLosesNothing cancels Next while a worker is busy.
func TestCancelledWaitLosesNothing(t *testing.T) {
	src := Pipe(numbers(t, checked(t), 12), Batch(3, false))
	busy, free := make(chan struct{}, 100), make(chan struct{})
	slow := double()
	slow.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		busy <- struct{}{}
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return double().Map(ctx, in, rows)
	}
	ds := Pipe(src, ParallelMap(slow, 2), Prefetch(1))
	it := iterate(t, ds)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-busy
		cancel()
	}()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(free)
	want := drain(t, iterate(t, Pipe(src, Map(double()))), ds.Schema(), 100)
	if d := cmp.Diff(want, drain(t, it, ds.Schema(), 100)); d != "" {
		t.Errorf("%.400s", d)
	}
}

// TestCloseEndsBusyWork closes an iterator, and cancels Iterate's context, while workers are busy.
func TestCloseEndsBusyWork(t *testing.T) {
	src := Pipe(numbers(t, checked(t), 12), Repeat(0), Batch(3, false))
	stuck := double()
	started := make(chan struct{}, 100)
	stuck.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		if rows.First > 3 {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return double().Map(ctx, in, rows)
	}
	for _, cancelFirst := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		it, err := Pipe(src, ParallelMap(stuck, 3), Prefetch(2)).Iterate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		next(t, it, src.Schema())
		<-started
		if cancelFirst {
			cancel()
			for err == nil {
				var rec arrow.Record
				if rec, err = it.Next(context.Background()); err == nil {
					rec.Release()
				}
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func TestMapperErrors(t *testing.T) {
	src := Pipe(numbers(t, checked(t), 12), Batch(3, false))
	for want, f := range map[string]func(context.Context, arrow.Record, Rows) (arrow.Record, error){
		"broken":            func(context.Context, arrow.Record, Rows) (arrow.Record, error) { return nil, errors.New("broken") },
		"panicked at row 1": func(context.Context, arrow.Record, Rows) (arrow.Record, error) { panic("oh") },
		"made 1 rows of 3":  func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) { return in.NewSlice(0, 1), nil },
	} {
		for _, tr := range []Transform{Map(Mapper{Map: f}), ParallelMap(Mapper{Map: f}, 2)} {
			it := iterate(t, Pipe(src, tr, Prefetch(1)))
			for range 2 {
				if _, err := it.Next(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, expected %q", err, want)
				}
			}
		}
	}
	ds := Pipe(src, Filter("odd", func(context.Context, arrow.Record, []bool) error { panic("oh") }), Prefetch(1))
	if _, err := iterate(t, ds).Next(context.Background()); err == nil || !strings.Contains(err.Error(), `filter "odd" panicked: oh`) {
		t.Errorf("got %v", err)
	}
	if _, err := Pipe(src, Map(Mapper{Name: "x"})).Iterate(context.Background()); err == nil {
		t.Error("mapper without Map: no error")
	}
}

// TestOpeningEndsWithItsCall: a call that opens the next epoch or input ends with its context, even while that is being opened.
func TestOpeningEndsWithItsCall(t *testing.T) {
	mem := checked(t)
	for name, join := range map[string]func(first, second Dataset) Dataset{
		"concatenate": func(first, second Dataset) Dataset { return Concatenate(first, second) },
		"interleave":  func(first, second Dataset) Dataset { return Interleave(1, 1, first, second) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		slow := Pipe(numbers(t, mem, 3), Batch(3, false)).(*node).derive("slow", func(opening context.Context, _ int64) (stage, error) {
			cancel()
			select {
			case <-opening.Done():
			case <-time.After(10 * time.Second):
				t.Errorf("%s: the opening did not end", name)
			}
			return nil, opening.Err()
		})
		it := iterate(t, Pipe(join(numbers(t, mem, 3), slow), Batch(3, false)))
		rec, err := it.Next(ctx)
		if err != nil {
			t.Fatal(name, err)
		}
		rec.Release()
		if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
