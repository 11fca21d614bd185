package inputs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// double multiplies "x" by a number that depends on the row's seed.
func double() Mapper {
	return Mapper{Name: "double", Seed: 5, Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		x, id := newBuffer(rows.Allocator, int(in.NumRows())*8), newBuffer(rows.Allocator, int(in.NumRows())*8)
		defer x.Release()
		defer id.Release()
		s, err := SchemaFromArrow(in.Schema())
		if err != nil {
			return nil, err
		}
		ts, err := Tensors(in, s)
		if err != nil {
			return nil, err
		}
		xs := arrow.Float32Traits.CastFromBytes(x.Bytes())
		for i, v := range tensor.Values[float32](ts[0].Tensor) {
			xs[i] = v * float32(rows.Seed(i/2)%1000)
		}
		copy(id.Bytes(), ts[1].Tensor.Bytes)
		return recordOf(in.Schema(), int(in.NumRows()), x, id), nil
	}}
}

func odd(_ context.Context, rec arrow.Record, keep []bool) error {
	for i := range keep {
		keep[i] = rec.Column(1).(interface{ Value(int) int64 }).Value(i)%2 == 1
	}
	return nil
}

// datasets lists every kind of Dataset.
func datasets(t testing.TB, mem memory.Allocator) map[string]Dataset {
	t.Helper()
	src := numbers(t, mem, 37)
	glyphs, err := Glyphs(3, 23, mem)
	if err != nil {
		t.Fatal(err)
	}
	ds := map[string]Dataset{
		"slices": src, "glyphs": glyphs, "stream": streamOf(src), "opaque": Pipe(opaqueDataset{src}, Batch(5, false)),
		"everything":           Pipe(src, Shuffle(20, 1), Repeat(2), Batch(5, false), ParallelMap(double(), 3), Prefetch(2)),
		"everything streaming": Pipe(streamOf(src), Filter("odd", odd), Shuffle(9, 1), Repeat(3), Map(double()), Batch(4, true), Prefetch(3)),
		"prefetched rows":      Pipe(src, Prefetch(2), ParallelMap(double(), 2), Batch(3, false)),
		"batch of batches":     Pipe(src, Batch(7, false), Batch(3, false), Take(30), Repeat(2), Batch(4, false)),
		"map of batches":       Pipe(src, Batch(7, false), Map(double()), Batch(3, false), Take(20)),
		"cached shuffle":       Pipe(streamOf(src), Cache(), Shuffle(40, 2), Repeat(2), Batch(7, false)),
		"repeated batches":     Pipe(src, Batch(10, false), Repeat(2)),
		"generator":            generated(t, mem, 37), "generator shuffled": Pipe(generated(t, mem, 37), Shuffle(9, 1), Repeat(2), Batch(5, false)),
		"opaque shuffled": Pipe(opaqueDataset{Pipe(src, Batch(10, false))}, Shuffle(8, 2), Batch(3, false)),
	}
	maps.Copy(ds, liveSources(t, mem))
	maps.Copy(ds, combinations(t, mem))
	for name, tr := range map[string]Transform{
		"batch": Batch(8, false), "batch drop": Batch(8, true), "take": Take(11), "skip": Skip(30), "shard": Shard(1, 3),
		"stratified": Folding{Folds: 3, Stratify: "id"}.Keep(1, false), "grouped": Folding{Folds: 3, Group: "x"}.Keep(1, true), "by time": Folding{Folds: 3, Time: "id"}.Keep(1, false),
		"by order": Folding{Folds: 3, Time: FileOrder}.Keep(2, true), "fold numbers": Folding{Folds: 3}.Number("fold"), "fold": Fold(5, 2, false), "held out": Fold(5, 2, true), "filter": Filter("odd", odd), "map": Map(double()), "parallel map": ParallelMap(double(), 2),
		"repeat": Repeat(2), "shuffle": Shuffle(10, 4), "prefetch": Prefetch(2), "cache": Cache(), "project": Project("id"),
	} {
		ds[name] = tr(src)
		ds[name+" streaming"] = tr(streamOf(src))
	}
	return ds
}

func TestDatasetContract(t *testing.T) {
	mem := checked(t)
	for name, ds := range datasets(t, mem) {
		t.Run(name, func(t *testing.T) {
			checkDataset(t, ds)
		})
	}
}

// checkDataset checks the contract of a finite Dataset.
func checkDataset(t *testing.T, ds Dataset) {
	t.Helper()
	s := ds.Schema()
	want := drain(t, iterate(t, ds), s, 1000)
	if len(want) == 0 || len(want) == 1000 {
		t.Fatalf("got %d records", len(want))
	}
	if d := cmp.Diff(want, drain(t, iterate(t, ds), s, 1000)); d != "" {
		t.Fatalf("a second pass differs (-first +second):\n%.500s", d)
	}
	if !ds.Schema().Equal(s) {
		t.Fatal("the schema changed")
	}
	checkStates(t, ds, want)
	checkCancellation(t, ds)
}

// checkStates restores every position, in a fresh and in a used iterator.
func checkStates(t *testing.T, ds Dataset, want []string) {
	t.Helper()
	it, used := iterate(t, ds), iterate(t, ds)
	for k := 0; k <= len(want); k++ {
		state, err := it.State()
		if err != nil {
			t.Fatal(err)
		}
		again, err := it.State()
		if err != nil || !bytes.Equal(state, again) {
			t.Fatalf("state %d changes when taken twice (%v)", k, err)
		}
		for _, r := range []Iterator{used, iterate(t, ds)} {
			if err := r.Restore(state); err != nil {
				t.Fatalf("restore %d: %v", k, err)
			}
			if d := cmp.Diff(want[k:min(k+3, len(want))], drain(t, r, ds.Schema(), 3)); d != "" && k < len(want) {
				t.Fatalf("after restoring position %d (-want +got):\n%.500s", k, d)
			}
		}
		if b := next(t, it, ds.Schema()); k < len(want) && b != want[k] {
			t.Fatalf("record %d differs after taking states", k)
		}
	}
}

func checkCancellation(t *testing.T, ds Dataset) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	it, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	cancel()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Next after cancellation: got %v", err)
	}
	if _, err := ds.Iterate(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Iterate after cancellation: got %v", err)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if err := it.Close(); err != nil {
		t.Fatalf("second Close: %v", err)
	}
	if _, err := it.Next(context.Background()); !errors.Is(err, ErrClosed) {
		t.Fatalf("Next after Close: got %v", err)
	}
}

func TestInvalidArguments(t *testing.T) {
	src := numbers(t, memory.DefaultAllocator, 3)
	for name, tr := range map[string]Transform{
		"batch size must be positive, got 0": Batch(0, false), "shuffle buffer must be positive, got -1": Shuffle(-1, 0),
		"shard index must lie in [0, 2), got 2": Shard(2, 2), "take must not be negative, got -3": Take(-3),
		"parallel map needs at least 1 worker and at most 16384, got 0": ParallelMap(double(), 0), "prefetch of 1000000 batches": Prefetch(1_000_000), "split needs at least 2 folds and a held-out one in [0, 1), got 0": Fold(1, 0, false),
	} {
		_, err := Pipe(src, tr, Repeat(0), Batch(2, false)).Iterate(context.Background())
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("got %v, expected %q", err, name)
		}
	}
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	src := numbers(t, memory.DefaultAllocator, 40)
	state, err := iterate(t, Pipe(src, Shuffle(40, 1), Batch(4, false), Prefetch(1))).State()
	if err != nil {
		t.Fatal(err)
	}
	if err := iterate(t, Pipe(src, Shuffle(40, 1), Batch(4, false), Prefetch(9))).Restore(state); err != nil {
		t.Errorf("another depth of prefetching: %v", err)
	}
	if err := iterate(t, Pipe(src, Shuffle(40, 2), Batch(4, false), Prefetch(1))).Restore(state); !errors.Is(err, ErrStateMismatch) {
		t.Errorf("another seed: got %v", err)
	}
	for i := range state {
		bad := bytes.Clone(state)
		bad[i] ^= 1
		if err := iterate(t, Pipe(src, Shuffle(40, 1), Batch(4, false), Prefetch(1))).Restore(bad); !errors.Is(err, ErrBadState) {
			t.Fatalf("byte %d flipped: got %v", i, err)
		}
	}
}

// TestRestoreOfAStateCutShort cuts a state at every byte and gives it a correct
// checksum.
func TestRestoreOfAStateCutShort(t *testing.T) {
	ds := Pipe(numbers(t, memory.DefaultAllocator, 40), Shuffle(40, 1), Batch(4, false), Prefetch(1))
	state, err := iterate(t, ds).State()
	if err != nil {
		t.Fatal(err)
	}
	body := state[:len(state)-4]
	for n := len(stateMagic) + 1; n < len(body); n++ {
		bad := binary.LittleEndian.AppendUint32(bytes.Clone(body[:n]), crc32.Checksum(body[:n], castagnoli))
		if err := iterate(t, ds).Restore(bad); !errors.Is(err, ErrBadState) {
			t.Errorf("%d of %d bytes: got %v", n, len(body), err)
		}
	}
}

func TestEndlessRepeatOfNothing(t *testing.T) {
	ds := Pipe(numbers(t, memory.DefaultAllocator, 4), Skip(4), Repeat(0), Batch(2, false))
	_, err := iterate(t, ds).Next(context.Background())
	if !errors.Is(err, ErrEmpty) {
		t.Fatalf("got %v", err)
	}
}

func TestShuffleStateIsCompact(t *testing.T) {
	src, err := Glyphs(1, 60000, nil)
	if err != nil {
		t.Fatal(err)
	}
	it := iterate(t, Pipe(src, Shuffle(60000, 1), Repeat(0), Batch(128, true), Prefetch(2)))
	next(t, it, src.Schema())
	state, err := it.State()
	if err != nil || len(state) > 250_000 {
		t.Fatalf("state of %d bytes, %v", len(state), err)
	}
}
