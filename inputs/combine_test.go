package inputs

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/tensor"
)

// counted returns rows with the numbers from to to-1 as the label "id".
func counted(t testing.TB, mem memory.Allocator, from, to int) Dataset {
	t.Helper()
	all := make([]int64, to-from)
	for i := range all {
		all[i] = int64(from + i)
	}
	ds := must[Indexed](t)(Slices(mem, Slice("id", Label, append(all, 0))))
	return Take(int64(len(all)))(ds) // Slices refuses empty columns
}

// lists returns rows with a ragged column "v", number i repeated lengths[i] times, and "id", number i.
func lists(t testing.TB, mem memory.Allocator, lengths ...int) Dataset {
	t.Helper()
	type row struct {
		V  []int64 `input:"v"`
		ID int64   `input:"id,label"`
	}
	rows := make([]row, len(lengths))
	for i, n := range lengths {
		rows[i] = row{V: slices.Repeat([]int64{int64(i)}, n), ID: int64(i)}
	}
	return streamOf(must[Indexed](t)(FromStructs(rows, ArrowOptions{Allocator: mem})))
}

// combinations returns data sets that combine others or reorder rows, for the table of all data sets.
func combinations(t testing.TB, mem memory.Allocator) map[string]Dataset {
	a, b := numbers(t, mem, 37), numbers(t, mem, 20)
	other := must[Indexed](t)(Slices(mem, Slice("y", Feature, make([]float64, 60), 2)))
	var lengths []int
	for i := range 60 {
		lengths = append(lengths, i*7%11)
	}
	ragged := lists(t, mem, lengths...)
	everything := Pipe(Mix(Mixture{Weights: []float64{2, 1}, Seed: 3}, Pipe(streamOf(a), Shuffle(9, 1)), Interleave(2, 3, a, b, streamOf(b))),
		Repeat(2), Dedupe("x"), Batch(5, false), ParallelMap(double(), 3), Prefetch(2))
	return map[string]Dataset{
		"concatenate": Concatenate(a, b), "concatenate streaming": Concatenate(streamOf(a), b, Prefetch(2)(b)),
		"zip": Zip(a, other), "zip streaming": Pipe(Zip(Batch(4, false)(a), streamOf(other)), Batch(7, false)),
		"interleave": Interleave(2, 3, a, b, streamOf(b)), "interleave in batches": Pipe(Interleave(3, 1, a, b), Batch(8, true), Prefetch(1)),
		"mix": Mix(Mixture{Seed: 1}, a, streamOf(b)), "mix stopping": Mix(Mixture{Weights: []float64{1, 3}, StopOnEmpty: true}, a, b), "combined": everything,
		"window": Window(Windows{Size: 4, Shift: 2})(a), "window of last labels": Pipe(streamOf(a), Window(Windows{Size: 3, Shift: 7, Stride: 2, Last: true}), Batch(2, false)),
		"flat map": FlatMap(twice())(a), "flat map streaming": Pipe(streamOf(a), FlatMap(twice()), Prefetch(1), Batch(5, false)),
		"unbatch": Unbatch("x")(a), "unbatch ragged": Unbatch()(Project("v")(ragged)), "unbatch of windows": Unbatch()(Window(Windows{Size: 4})(a)),
		"padded batch": PaddedBatch(4, false, Padding{Column: "v", Length: 6, Value: -1, Truncate: true})(ragged),
		"buckets":      BucketByLength(Buckets{Column: "v", Boundaries: []int{3, 6}, BatchSizes: []int{4, 3, 2}})(ragged),
		"groups":       Pipe(streamOf(a), GroupBy(remainders()), Prefetch(2)), "groups cut": Pipe(a, GroupBy(remainders()), Batch(3, false)),
		"dedupe": Dedupe()(Concatenate(b, a)), "dedupe repeated": Pipe(streamOf(a), Repeat(3), Dedupe("id"), Batch(4, false)),
		"resample": Resample(Classes{Column: "c", Target: []float64{1, 1, 2}, Seed: 3})(classesOf(t, mem, 90)), "resample known": Pipe(classesOf(t, mem, 90), Resample(Classes{Column: "c", Target: []float64{1, 1, 0}, Initial: []float64{1, 1, 1}}), Batch(7, false)),
		"snapshot": Snapshot(t.TempDir())(streamOf(a)), "snapshot repeated": Pipe(streamOf(a), Snapshot(t.TempDir()), Shuffle(7, 2), Repeat(2), Batch(5, false), Prefetch(1)),
		"rename": Rename(map[string]string{"x": "z"})(a), "rename streaming": Rename(map[string]string{"x": "z"})(streamOf(a)),
	}
}

// twice repeats each row as often as its id modulo 3 says.
func twice() Mapper {
	return Mapper{Name: "twice", Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		var spans []span
		for i := range int(in.NumRows()) {
			id, _ := int64At(in.Column(1), i)
			for range id % 3 {
				spans = append(spans, span{0, i, 1})
			}
		}
		return gatherRecord(rows.Allocator, in.Schema(), []arrow.Record{in}, spans)
	}}
}

func remainders() Grouping {
	return Grouping{Name: "remainders", Size: func(key int64) int { return int(key%3) + 2 }, Key: func(_ context.Context, rec arrow.Record, keys []int64) error {
		for i := range keys {
			id, _ := int64At(rec.Column(int(rec.NumCols())-1), i)
			keys[i] = id * id % 5
		}
		return nil
	}}
}

// classesOf returns n rows of 3 classes, mostly class 0.
func classesOf(t testing.TB, mem memory.Allocator, n int) Dataset {
	class, ids := make([]int32, n), make([]int64, n)
	for i := range class {
		class[i], ids[i] = max(int32(i*13%10)-7, 0), int64(i)
	}
	return streamOf(must[Indexed](t)(Slices(mem, Slice("c", Feature, class), Slice("id", Label, ids))))
}

//go:embed testdata/tfdata.json
var tfdata []byte

// TestTFData compares with what tf.data delivers.
func TestTFData(t *testing.T) {
	var want map[string]any
	if err := json.Unmarshal(tfdata, &want); err != nil {
		t.Fatal(err)
	}
	mem := checked(t)
	lengths := []int{3, 7, 0, 5, 1, 4}
	var parts []Dataset
	for i, n := range lengths {
		parts = append(parts, streamOf(counted(t, mem, 100*i, 100*i+n)))
	}
	check := func(name string, got any) {
		t.Helper()
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(b, &plain); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[name], plain); d != "" {
			t.Errorf("%s: (-tf.data +got)\n%s", name, d)
		}
		delete(want, name)
	}
	check("concatenate", flat(ids(t, Concatenate(counted(t, mem, 0, 5), counted(t, mem, 10, 13)))))
	a, b := columnsOf(t, Zip(counted(t, mem, 0, 5), Rename(map[string]string{"id": "b"})(counted(t, mem, 10, 13))))
	check("zip", [][]int64{{a[0], b[0]}, {a[1], b[1]}, {a[2], b[2]}})
	for _, cycle := range []int{1, 2, 3, 6, 9} {
		for _, block := range []int{1, 2, 4} {
			check(fmt.Sprintf("interleave %d %d", cycle, block), flat(ids(t, Interleave(cycle, block, parts...))))
		}
	}
	for _, w := range [][3]int{{3, 3, 1}, {3, 1, 1}, {2, 5, 1}, {3, 2, 2}, {1, 1, 1}, {4, 1, 3}} {
		var got [][]int64
		for _, rows := range ids(t, Pipe(counted(t, mem, 0, 13), Window(Windows{Size: w[0], Shift: w[1], Stride: w[2]}))) {
			for row := range slices.Chunk(rows, w[0]) {
				got = append(got, row)
			}
		}
		check(fmt.Sprintf("window %d %d %d", w[0], w[1], w[2]), got)
	}
	pairs := make([]int64, 0, 14)
	for i := range int64(7) {
		pairs = append(pairs, i, -i)
	}
	check("unbatch", flat(ids(t, Unbatch()(must[Indexed](t)(Slices(mem, Slice("id", Label, pairs, 2)))))))
	check("flat_map", flat(ids(t, Pipe(counted(t, mem, 0, 6), FlatMap(ranges(lengths))))))
	check("unique", flat(ids(t, Dedupe()(squares(t, mem, 30)))))
	check("group_by_window", ids(t, Pipe(counted(t, mem, 0, 23), GroupBy(remainders()))))
	var nine []int
	for i := range 9 {
		nine = append(nine, i*7%5)
	}
	check("padded_batch", paddedRows(t, mem, nine))
	var forty []int
	for i := range 40 {
		forty = append(forty, i*7%11)
	}
	for drop, name := range map[bool]string{false: "bucket False", true: "bucket True"} {
		got := ids(t, BucketByLength(Buckets{Column: "v", Boundaries: []int{3, 6}, BatchSizes: []int{4, 3, 2}, DropRemainder: drop})(lists(t, mem, forty...)))
		for _, batch := range got {
			for i, id := range batch {
				if forty[id] == 0 {
					batch[i] = 0
				}
			}
		}
		check(name, got)
	}
	for name := range want {
		t.Errorf("%s was not compared", name)
	}
}

// columnsOf returns the values of two integer columns.
func columnsOf(t *testing.T, ds Dataset) (a, b []int64) {
	t.Helper()
	it := iterate(t, ds)
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(tensor.Values[int64](ts[0].Tensor)), slices.Clone(tensor.Values[int64](ts[1].Tensor))
}

// ranges maps each row to lengths[id] rows 10*id, 10*id+1, ...
func ranges(lengths []int) Mapper {
	return Mapper{Name: "ranges", Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		var out []int64
		for i := range int(in.NumRows()) {
			id, _ := int64At(in.Column(0), i)
			for k := range lengths[id] {
				out = append(out, 10*id+int64(k))
			}
		}
		b := newBuffer(rows.Allocator, 8*len(out))
		defer b.Release()
		copy(arrow.Int64Traits.CastFromBytes(b.Bytes()), out)
		return recordOf(in.Schema(), len(out), b), nil
	}}
}

func squares(t *testing.T, mem memory.Allocator, n int) Dataset {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i * i % 7)
	}
	return must[Indexed](t)(Slices(mem, Slice("id", Label, out)))
}

// paddedRows returns padded batches of 4 rows with the numbers 0, 1, ...
func paddedRows(t *testing.T, mem memory.Allocator, lengths []int) (batches [][][]int64) {
	type row struct {
		V []int64 `input:"v,label"`
	}
	var rows []row
	for _, n := range lengths {
		rows = append(rows, row{append([]int64{}, seq(n)...)})
	}
	for _, batch := range ids(t, PaddedBatch(4, false, Padding{Column: "v", Length: 6, Value: -1})(must[Indexed](t)(FromStructs(rows, ArrowOptions{Allocator: mem})))) {
		batches = append(batches, slices.Collect(slices.Chunk(batch, 6)))
	}
	return batches
}

// TestCombinedRows: for all sizes, combining loses and adds no rows, and keeps the order of each input's rows.
func TestCombinedRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := checked(t)
		var parts []Dataset
		var want []int64
		for i := range rapid.IntRange(1, 5).Draw(rt, "inputs") {
			n := rapid.IntRange(0, 300).Draw(rt, "rows")
			ds := counted(t, mem, 1000*i, 1000*i+n)
			want = append(want, flat(ids(t, ds))...)
			if rapid.Bool().Draw(rt, "stream") {
				ds = Pipe(streamOf(ds), Prefetch(rapid.IntRange(0, 2).Draw(rt, "prefetch")))
			}
			parts = append(parts, ds)
		}
		cycle, block := rapid.IntRange(1, 7).Draw(rt, "cycle"), rapid.IntRange(1, 9).Draw(rt, "block")
		size := rapid.IntRange(1, 70).Draw(rt, "batch")
		for name, ds := range map[string]Dataset{"concatenate": Concatenate(parts...), "interleave": Interleave(cycle, block, parts...), "mix": Mix(Mixture{Seed: rapid.Int64().Draw(rt, "seed")}, parts...)} {
			got := flat(ids(t, Pipe(ds, Batch(size, false))))
			last := map[int64]int64{}
			for _, id := range got {
				if before, ok := last[id/1000]; ok && id != before+1 {
					rt.Fatalf("%s: %d comes after %d", name, id, before)
				}
				last[id/1000] = id
			}
			if name != "concatenate" {
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
	})
}

// TestMixShares: rows come in proportion to the weights.
func TestMixShares(t *testing.T) {
	weights, counts := []float64{5, 3, 2}, [3]int{}
	ds := Mix(Mixture{Weights: weights, Seed: 4}, Repeat(0)(counted(t, nil, 0, 9)), Repeat(0)(counted(t, nil, 1000, 1009)), Repeat(0)(counted(t, nil, 2000, 2009)))
	const rows = 20_000
	for _, id := range flat(ids(t, Take(rows)(ds))) {
		counts[id/1000]++
	}
	for i, n := range counts {
		p := weights[i] / 10
		if sigma := math.Sqrt(rows * p * (1 - p)); math.Abs(float64(n)-rows*p) > 5*sigma {
			t.Errorf("input %d came %d times of %d, expected %.0f", i, n, rows, rows*p)
		}
	}
}

// TestResampleShares: classes come in the wanted proportions, whether the initial ones are known or not.
func TestResampleShares(t *testing.T) {
	const rows = 30_000
	for name, c := range map[string]Classes{"known": {Initial: []float64{8, 1, 1}}, "estimated": {}} {
		c.Column, c.Target, c.Seed = "c", []float64{1, 1, 2}, 5
		ds := Pipe(classesOf(t, memory.DefaultAllocator, 10), Repeat(rows/10), Resample(c), Rename(map[string]string{"c": "class"}))
		counts, total := [3]int{}, 0
		for _, id := range flat(ids(t, ds)) {
			counts[max(int32(id*13%10)-7, 0)]++
			total++
		}
		for class, n := range counts {
			if got, want := float64(n)/float64(total), c.Target[class]/4; math.Abs(got-want) > 0.02 || total < rows/10 {
				t.Errorf("%s: class %d is %.3f of %d rows, expected %.3f", name, class, got, total, want)
			}
		}
	}
}

func TestCombinedErrors(t *testing.T) {
	a, x := numbers(t, nil, 9), counted(t, nil, 0, 9)
	ragged := lists(t, nil, 2, 9, 1)
	for want, ds := range map[string]Dataset{
		"concatenate of no data sets":                               Concatenate(),
		"zip: input 2 is nil: check the error of its source":        Zip(a, nil),
		"input 2 of concatenate has the columns id int64 label":     Concatenate(a, x),
		`zip: column "id" is in input 1 and in input 2`:             Zip(a, x),
		"interleave needs a cycle of at least 1":                    Interleave(0, 1, a),
		"mix has 1 weights for 2 data sets":                         Mix(Mixture{Weights: []float64{1}}, a, a),
		"weight 2 of mix is 0, expected a number > 0":               Mix(Mixture{Weights: []float64{1, 0}}, a, a),
		"input 2 of mix[1 1][0,false]: batch size must be positive": Mix(Mixture{}, a, Batch(0, false)(a)),
		"window needs a size":                                       Window(Windows{})(a),
		`column "v" is ragged, windows need values of one shape`:    Window(Windows{Size: 2})(ragged),
		`unbatch: column "id" has no dimension to make rows of`:     Unbatch()(a),
		`unbatch: unknown column "y"`:                               Unbatch("y")(a),
		"column x float32[2] feature is not ragged":                 Pipe(a, PaddedBatch(2, false, Padding{Column: "x", Length: 2})),
		"length must be > 0, got 0":                                 Pipe(ragged, PaddedBatch(2, false, Padding{Column: "v"})),
		`value "red" is not an int64 number`:                        Pipe(ragged, PaddedBatch(2, false, Padding{Column: "v", Length: 2, Value: "red"})),
		`column "v", row 2: pad: it has 9 values, more than`:        Pipe(ragged, PaddedBatch(2, false, Padding{Column: "v", Length: 2})),
		"1 boundaries make 2 buckets, got 1 batch sizes":            BucketByLength(Buckets{Column: "v", Boundaries: []int{3}, BatchSizes: []int{1}})(ragged),
		"boundaries must be > 0 and ascend":                         BucketByLength(Buckets{Column: "v", Boundaries: []int{3, 3}, BatchSizes: []int{1, 1, 1}})(ragged),
		`grouping "g" lacks Key or Size`:                            GroupBy(Grouping{Name: "g"})(a),
		`grouping "zero": the size of group 0 is 0`:                 GroupBy(Grouping{Name: "zero", Key: func(context.Context, arrow.Record, []int64) error { return nil }, Size: func(int64) int { return 0 }})(a),
		`grouping "p" panicked: no`:                                 GroupBy(Grouping{Name: "p", Key: func(context.Context, arrow.Record, []int64) error { panic("no") }, Size: func(int64) int { return 1 }})(a),
		`dedupe: unknown column "y"`:                                Dedupe("y")(a),
		"has no class numbers":                                      Resample(Classes{Column: "x", Target: []float64{1}})(a),
		`column "id", row 3: value 2: resample: expected a class`:   Resample(Classes{Column: "id", Target: []float64{1, 1}})(a),
		"class 1 is wanted, but its initial share is 0":             Resample(Classes{Column: "id", Target: []float64{1, 1}, Initial: []float64{1, 0}})(a),
		"snapshot needs a folder":                                   Snapshot("")(a),
		`rename: unknown column "y"`:                                Rename(map[string]string{"y": "z"})(a),
		`column "id" occurs twice`:                                  Rename(map[string]string{"x": "id"})(a),
	} {
		it, err := ds.Iterate(t.Context())
		for err == nil {
			var rec arrow.Record
			if rec, err = it.Next(t.Context()); err == nil {
				rec.Release()
			}
		}
		if it != nil {
			it.Close()
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestCombinedProducerFails: the other inputs' rows before the failure arrive, then the failure, on every further call.
func TestCombinedProducerFails(t *testing.T) {
	broken := errors.New("broken")
	mem := checked(t)
	schema := numbers(t, mem, 1)
	bad := Filter("broken", func(_ context.Context, rec arrow.Record, keep []bool) error {
		for i := range keep {
			if keep[i] = true; peek(rec, 1).(interface{ Value(int) int64 }).Value(i) == 7 {
				return broken
			}
		}
		return nil
	})(Pipe(streamOf(numbers(t, mem, 20)), Batch(5, false)))
	for name, ds := range map[string]Dataset{
		"concatenate": Concatenate(schema, bad), "zip": Zip(Rename(map[string]string{"x": "a", "id": "b"})(numbers(t, mem, 20)), bad), "interleave": Interleave(2, 1, numbers(t, mem, 20), bad),
		"mix": Mix(Mixture{}, numbers(t, mem, 9), bad), "window": Window(Windows{Size: 3})(bad), "flat map": FlatMap(twice())(bad), "groups": GroupBy(remainders())(bad),
		"dedupe": Dedupe()(bad), "shuffle": Shuffle(3, 1)(bad), "resample": Resample(Classes{Column: "id", Target: make1(20)})(bad), "snapshot": Snapshot(t.TempDir())(bad),
	} {
		it := iterate(t, Pipe(ds, Batch(2, false), Prefetch(1)))
		var err error
		for err == nil {
			var rec arrow.Record
			if rec, err = it.Next(t.Context()); err == nil {
				rec.Release()
			}
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func make1(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// TestSnapshotFile: the file appears at the end of a pass, and the steps before it run once.
func TestSnapshotFile(t *testing.T) {
	dir, reads := t.TempDir(), 0
	src := Filter("count", func(_ context.Context, rec arrow.Record, keep []bool) error {
		for i := range keep {
			keep[i] = true
		}
		reads += len(keep)
		return nil
	})(streamOf(numbers(t, checked(t), 30)))
	ds := Snapshot(dir)(src)
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	it := iterate(t, ds)
	next(t, it, ds.Schema())
	early, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	it.Close()
	if got := files(); len(got) != 0 {
		t.Fatalf("a pass that ended early left %v", got)
	}
	want := flat(ids(t, ds))
	if got := files(); len(got) != 1 || filepath.Ext(got[0]) != ".arrow" {
		t.Fatalf("after a pass: %v", got)
	}
	before := reads
	again := iterate(t, ds)
	drain(t, again, ds.Schema(), 1)
	late, err := again.State()
	if err != nil {
		t.Fatal(err)
	}
	if got := flat(ids(t, Pipe(ds, Repeat(3)))); !slices.Equal(got, slices.Repeat(want, 3)) || reads != before {
		t.Errorf("got %v after reading %d rows again", got, reads-before)
	}
	it = iterate(t, ds) // a position from before the file existed
	if err := it.Restore(early); err != nil {
		t.Fatal(err)
	}
	if _, err := it.Next(t.Context()); err != io.EOF {
		t.Errorf("after the early position: %v", err)
	}
	for _, f := range files() {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := iterate(t, ds).Restore(late); !errors.Is(err, ErrStateMismatch) {
		t.Errorf("a position in a file that is gone: %v", err)
	}
}

// TestShardFilesOfSeveral shares the files of each combined data set.
func TestShardFilesOfSeveral(t *testing.T) {
	dir := t.TempDir()
	var sources []Dataset
	for part := range 2 {
		var names []string
		for i := range 4 {
			name := filepath.Join(dir, fmt.Sprintf("%d-%d.csv", part, i))
			if err := os.WriteFile(name, fmt.Appendf(nil, "%d\n%d\n", 10*part+i, 10*part+i), 0o644); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		sources = append(sources, must[Dataset](t)(CSV(names, CSVOptions{Columns: []ColumnSpec{{Name: "id", DType: "int64", Role: Label}}})))
	}
	both := Concatenate(sources...)
	if files, err := Files(both); err != nil || len(files) != 8 {
		t.Errorf("files %v, %v", files, err)
	}
	if d := cmp.Diff([]int64{1, 1, 3, 3, 11, 11, 13, 13}, flat(ids(t, ShardFiles(1, 2)(both)))); d != "" {
		t.Error(d)
	}
	if _, err := ShardFiles(1, 5)(both).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "4 files for 5 pipelines") {
		t.Errorf("got %v", err)
	}
	if _, err := Files(Zip(sources[0], Rename(map[string]string{"id": "b"})(sources[1]))); err == nil {
		t.Error("files of a zip are shared")
	}
}

// TestWindowsOfSmallRecords compares windows with their definition, for any division of the rows into records.
func TestWindowsOfSmallRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, record := rapid.IntRange(1, 60).Draw(rt, "rows"), rapid.IntRange(1, 9).Draw(rt, "record")
		w := Windows{Size: rapid.IntRange(1, 6).Draw(rt, "size"), Shift: rapid.IntRange(1, 12).Draw(rt, "shift"), Stride: rapid.IntRange(1, 3).Draw(rt, "stride")}
		var want []int64
		for start := 0; start+(w.Size-1)*w.Stride < rows; start += w.Shift {
			for i := range w.Size {
				want = append(want, int64(start+i*w.Stride))
			}
		}
		ds := Pipe(counted(t, nil, 0, rows), Batch(record, false), Window(w), Batch(rapid.IntRange(1, 4).Draw(rt, "batch"), false))
		if got := flat(ids(t, ds)); !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestDedupeInSnapshots: snapshots that are taken every few records leave out hashes that are large beside the rows read.
func TestDedupeInSnapshots(t *testing.T) {
	s := &dedupeStage{up: &rangeStage{}, order: make([]rowHash, 1000)}
	size := int64(1000 * len(rowHash{}))
	if err := s.save(&stateWriter{small: true, room: size - 1}); !errors.Is(err, errLargeState) {
		t.Errorf("with room for fewer: got %v", err)
	}
	for _, w := range []*stateWriter{{small: true, room: size}, {}} {
		if err := s.save(w); err != nil || int64(len(w.all())) < size {
			t.Errorf("got %d bytes, %v", len(w.all()), err)
		}
	}
}
