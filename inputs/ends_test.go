package inputs

import (
	"bytes"
	"context"
	"errors"
	stdimage "image"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"
)

// sources returns an input of each format, with at least three rows. Streams are opened anew for each call.
func sources(t *testing.T) map[string]Spec {
	all := map[string]Spec{"glyphs": {Format: "glyphs", Count: 9}, "sql": querySpec("9"), "images": {Format: "images", Files: []string{animals(t)}}, "audio": {Format: "audio", Files: []string{words(t)}},
		"csv - ": streamSpec("csv"), "jsonl - ": streamSpec("jsonl"), "arrow - ": streamSpec("arrow"),
		"flight": flightSpec((&pairs{}).serve(t), "1 2 3 4/5 6 7/8")}
	maps.Copy(all, objectCases(t))
	delete(all, "csv packed")
	image := idxFile(8, []byte{4, 1, 1}, 1, 2, 3, 4)
	all["idx"] = Spec{Format: "idx", Images: write(t, "i", image), Labels: write(t, "l", idxFile(8, []byte{4}, 0, 1, 0, 1))}
	numbers := all["csv"]
	numbers.Files = []string{write(t, "n.csv", []byte("x,y\n"+strings.Repeat("1,a\n2,b\n", 200)))}
	other := numbers
	other.Columns = []ColumnSpec{{Name: "x", DType: "int64", Role: Ignore}, {Name: "y", DType: "string"}}
	first := numbers
	first.Columns = []ColumnSpec{{Name: "x", DType: "int64"}, {Name: "y", Role: Ignore}}
	all["zip"], all["concat"] = Spec{Zip: []Spec{first, other}}, Spec{Concat: []Spec{numbers, numbers}}
	all["interleave"], all["mix"] = Spec{Interleave: []Spec{numbers, numbers}}, Spec{Mix: []Spec{numbers, numbers}}
	for name, text := range map[string]string{"jsonl": `{"x":1,"y":"a"}`, "tfrecord": ""} {
		s := all[name]
		if s.Files = []string{write(t, name, []byte(strings.Repeat(text+"\n", 50)))}; name == "tfrecord" {
			s.Files = []string{write(t, name, records(t, map[string]any{"x": []int64{4}, "y": []string{"q"}}, map[string]any{"x": []int64{5}, "y": []string{""}}, map[string]any{"x": []int64{5}, "y": []string{""}}))}
		}
		all[name] = s
	}
	for _, format := range Formats() {
		if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(s Spec) bool { s.Complete(); return s.Format == format }) {
			t.Errorf("format %s has no input here: add one", format)
		}
	}
	return all
}

// stepsOf returns a step of each kind that configs may name, for the input "concat" of sources.
func stepsOf(t *testing.T) map[string]TransformSpec {
	all := map[string]TransformSpec{
		"filter": {Expression: "x > 0"}, "compute": {Column: "z", Expression: "x + 1"}, "cast": {Columns: []string{"x"}, DType: "float32"}, "fill": {Value: 0}, "project": {Columns: []string{"x"}},
		"rename": {Column: "x", To: "z"}, "window": {Size: 2}, "unbatch": {}, "pad": {Column: "v", Length: 3}, "dedupe": {}, "split": {Column: "raw", Separator: "4"}, "resample": {Column: "x", Target: []float64{0, 1, 1}}, "shuffle": {Size: 5},
		"decode_raw": {Column: "raw", DType: "int32", Shape: []int{2}}, "decode_image": {Column: "file", Shape: []int{2, 3, 1}},
		"take": {Rows: 50}, "skip": {Rows: 1}, "cache": {}, "snapshot": {Dir: filepath.Join(t.TempDir(), "s")},
	}
	for _, kind := range TransformKinds() {
		s, ok := all[kind]
		if !ok {
			t.Errorf("transform %s has no step here: add one", kind)
		}
		s.Kind = kind
		all[kind] = s
	}
	return all
}

var errBroken = errors.New("broken on purpose")

// breaking is a transform that fails at its third row.
func breaking(map[string]any, int64) (Transform, error) {
	return func(ds Dataset) Dataset { return Batch(1, false)(breakAt(ds, 2)) }, nil
}

// breakAt fails at a row, after the rows before it.
func breakAt(ds Dataset, row int64) Dataset {
	return Map(Mapper{Name: "breaks", Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		if rows.First >= row {
			return nil, errBroken
		}
		in.Retain()
		return in, nil
	}})(Batch(1, false)(ds))
}

// openFiles returns the number of files that this process has open, 0 if the system does not report it.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// ending checks that a pass leaves nothing behind, however it ends: no goroutine, open file or memory.
func ending(t *testing.T, arrays bool, open func(mem memory.Allocator) (Dataset, error), end func(t *testing.T, ds Dataset)) {
	t.Helper()
	mem, before, files := memory.NewCheckedAllocator(memory.NewGoAllocator()), goleak.IgnoreCurrent(), openFiles()
	ds, err := open(mem)
	if err != nil {
		t.Fatal(err)
	}
	end(t, ds)
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	for range 20 { // array files stay open as long as the data set is used
		if arrays && openFiles() > files {
			runtime.GC()
		}
	}
	if now := openFiles(); now > files {
		t.Errorf("%d files are open, expected %d as before", now, files)
	}
	mem.AssertSize(t, 0)
}

// stopsEarly takes one batch.
func stopsEarly(t *testing.T, ds Dataset) {
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	takeOne(t, it)
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

// isCancelled cancels its context after a batch, and then closes the iterator.
func isCancelled(t *testing.T, ds Dataset) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	it, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	takeOne(t, it)
	cancel()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected the cancellation", err)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

// fails reads up to the producer's failure.
func fails(t *testing.T, ds Dataset) {
	it, err := ds.Iterate(context.Background())
	if err != nil {
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		return
	}
	for err == nil {
		var rec arrow.Record
		if rec, err = it.Next(context.Background()); err == nil {
			rec.Release()
		}
	}
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v, expected the producer's failure", err)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

func takeOne(t *testing.T, it Iterator) {
	t.Helper()
	rec, err := it.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
}

// opened returns a function that opens an input in batches of 1, read ahead by several goroutines.
func opened(t *testing.T, s Spec) func(mem memory.Allocator) (Dataset, error) {
	return func(mem memory.Allocator) (Dataset, error) {
		s := s
		s.Complete()
		s.BatchSize, s.Prefetch, s.Parallelism, s.Delimiter, s.Shard = 1, 2, 2, ",", "auto"
		text := strings.Repeat("1,7\n", 100)
		switch s.Format {
		case "jsonl":
			text = strings.Repeat(`{"x":1,"id":7}`+"\n", 100)
		case "arrow":
			text = string(pairStream(t, slices.Repeat([]int64{1, 7}, 100), slices.Repeat([]int64{1, 7}, 100)))
		}
		return Open(context.Background(), s, Context{Mode: Train, Allocator: mem, Stdin: NewStream(strings.NewReader(text)),
			Transforms: map[string]TransformFunc{"breaks": breaking}})
	}
}

// TestPassesEnd: a pass over any source leaves nothing behind if its consumer stops early, its context is cancelled, or its producer fails.
func TestPassesEnd(t *testing.T) {
	for name, s := range sources(t) {
		t.Run(name, func(t *testing.T) {
			arrays := s.Format == "npy" || s.Format == "npz"
			ending(t, arrays, opened(t, s), stopsEarly)
			ending(t, arrays, opened(t, s), isCancelled)
			s.Transforms = []TransformSpec{{Kind: "breaks"}}
			ending(t, arrays, opened(t, s), fails)
		})
	}
}

// TestStepsEnd: the same after each kind of step in configs.
func TestStepsEnd(t *testing.T) {
	base := Spec{Format: "jsonl", Files: []string{write(t, "r.jsonl", []byte(strings.Repeat(`{"x":1,"v":[1,2]}`+"\n"+`{"x":2,"v":[]}`+"\n", 40)))},
		Columns: []ColumnSpec{{Name: "x", DType: "int64"}, {Name: "v", DType: "int64", Ragged: true}}}
	for kind, step := range stepsOf(t) {
		t.Run(kind, func(t *testing.T) {
			s := base
			if kind == "window" || kind == "dedupe" {
				s.Columns = s.Columns[:1]
			}
			if kind == "unbatch" {
				s.Columns = s.Columns[1:]
			}
			if strings.HasPrefix(kind, "decode") || kind == "split" {
				s.Format, s.Files = "tfrecord", []string{write(t, "r.tfrecord", bytes.Repeat(records(t, map[string]any{"raw": []string{"12345678"}, "file": []string{string(pngOf(t, stdimage.NewGray(stdimage.Rect(0, 0, 3, 2))))}}), 80))}
				s.Columns = []ColumnSpec{{Name: "raw", DType: "string"}, {Name: "file", DType: "string"}}
			}
			s.Transforms = []TransformSpec{step}
			ending(t, false, opened(t, s), isCancelled)
			ending(t, false, opened(t, s), stopsEarly)
			s.Transforms = []TransformSpec{{Kind: "breaks"}, step}
			ending(t, false, opened(t, s), fails)
		})
	}
}

// TestTransformsEnd: the same for the transforms of Go programs.
func TestTransformsEnd(t *testing.T) {
	for name, ds := range datasets(t, memory.DefaultAllocator) {
		t.Run(name, func(t *testing.T) {
			same := func(memory.Allocator) (Dataset, error) { return Prefetch(2)(ds), nil }
			ending(t, false, same, stopsEarly)
			ending(t, false, same, isCancelled)
			ending(t, false, func(memory.Allocator) (Dataset, error) { return Prefetch(2)(Batch(2, false)(breakAt(ds, 1))), nil }, fails)
		})
	}
	for name, tr := range map[string]Transform{"batch": Batch(8, false), "take": Take(30), "skip": Skip(3), "shard": Shard(1, 3), "fold": Fold(5, 2, false), "filter": Filter("odd", odd), "map": Map(double()),
		"parallel map": ParallelMap(double(), 3), "repeat": Repeat(2), "shuffle": Shuffle(10, 4), "prefetch": Prefetch(2), "cache": Cache(), "project": Project("id"),
		"by time": Folding{Folds: 3, Time: "id"}.Keep(1, false), "flat map": FlatMap(twice()), "groups": GroupBy(remainders()), "window": Window(Windows{Size: 4, Shift: 2}), "dedupe": Dedupe(),
		"snapshot": Snapshot(t.TempDir()), "mix": func(ds Dataset) Dataset { return Mix(Mixture{Seed: 1}, ds, ds) }, "interleave": func(ds Dataset) Dataset { return Interleave(2, 3, ds, ds) },
		"zip":    func(ds Dataset) Dataset { return Zip(Project("x")(ds), Project("id")(ds)) },
		"concat": func(ds Dataset) Dataset { return Concatenate(ds, ds) }} {
		t.Run("failing "+name, func(t *testing.T) {
			ending(t, false, func(mem memory.Allocator) (Dataset, error) {
				return Pipe(breakAt(streamOf(numbers(t, memory.DefaultAllocator, 37)), 20), tr, Batch(2, false), Prefetch(2)), nil
			}, fails)
		})
	}
}
