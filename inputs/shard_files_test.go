package inputs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// numberFiles writes CSV files of 10 rows each: file f has the numbers 10f to 10f+9.
func numberFiles(t *testing.T, files int) inputs.Dataset {
	t.Helper()
	var names []string
	for f := range files {
		var text strings.Builder
		for i := range 10 {
			fmt.Fprintf(&text, "%d\n", 10*f+i)
		}
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprintf("part-%d.csv", f)))
		if err := os.WriteFile(names[f], []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := inputs.CSV(names, inputs.CSVOptions{Columns: []inputs.ColumnSpec{{Name: "n", DType: "float32"}}})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// numbersOf reads at most limit numbers from a pass.
func numbersOf(t *testing.T, it inputs.Iterator, schema *inputs.Schema, limit int) (all []int) {
	t.Helper()
	r := inputs.NewTensorReader(schema)
	for len(all) < limit {
		rec, err := it.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		columns, err := r.Read(rec)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range tensor.Values[float32](columns[0].Tensor) {
			all = append(all, int(v))
		}
		rec.Release()
	}
	return all
}

// TestShardFiles: each pipeline reads only its own files, through every step after the source, and continues in
// them after a restore.
func TestShardFiles(t *testing.T) {
	batch := inputs.Batch(4, false)
	steps := map[string][]inputs.Transform{
		"plain":    {batch},
		"shuffle":  {inputs.Shuffle(64, 3), batch},
		"cache":    {inputs.Cache(), inputs.Shuffle(64, 3), batch},
		"repeat":   {inputs.Repeat(2), batch},
		"prefetch": {inputs.Repeat(2), batch, inputs.Prefetch(2)},
	}
	for name, transforms := range steps {
		t.Run(name, func(t *testing.T) {
			ds := inputs.Pipe(numberFiles(t, 5), transforms...)
			for i := range 2 {
				mine := inputs.Pipe(ds, inputs.ShardFiles(i, 2))
				want := []int{}
				for f := i; f < 5; f += 2 {
					for n := range 10 {
						want = append(want, 10*f+n)
					}
				}
				if name == "repeat" || name == "prefetch" {
					want = append(want, want...)
				}
				got := halves(t, mine)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("pipeline %d: rows %v, expected %v", i, got, want)
				}
			}
		})
	}
}

// halves reads a data set in two passes; the second continues where the first one stopped.
func halves(t *testing.T, ds inputs.Dataset) (all []int) {
	t.Helper()
	var state []byte
	for _, limit := range []int{12, 1 << 20} {
		it, err := ds.Iterate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state != nil {
			if err := it.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, numbersOf(t, it, ds.Schema(), limit)...)
		if state, err = it.State(); err != nil {
			t.Fatal(err)
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestFilesOfOthers: data sets that cannot be shared by files say so.
func TestFilesOfOthers(t *testing.T) {
	memory, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	files := numberFiles(t, 2)
	for _, c := range []struct {
		ds    inputs.Dataset
		count int
		want  string
	}{
		{memory, 2, "reads no files"},
		{inputs.Pipe(files, inputs.Take(5)), 2, "positions of rows"},
		{inputs.Pipe(files, inputs.Shard(0, 2), inputs.Batch(2, false)), 2, "positions of rows"},
		{files, 3, "2 files for 3 pipelines"},
		{files, 0, "shard index"},
		{inputs.Pipe(files, inputs.Batch(0, false)), 2, "batch size must be positive"},
	} {
		_, err := inputs.Pipe(c.ds, inputs.ShardFiles(0, c.count)).Iterate(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
}

// TestInMemory: rows of files are not in memory, and neither are rows that a step computes.
func TestInMemory(t *testing.T) {
	memory, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	scaled := inputs.Map(inputs.Normalize(inputs.Normalization{Scale: 2}))
	for _, c := range []struct {
		ds   inputs.Dataset
		want bool
	}{
		{memory, true},
		{inputs.Pipe(memory, inputs.Shuffle(2, 1), inputs.Take(1), inputs.Repeat(0), inputs.Batch(2, false)), true},
		{inputs.Pipe(memory, scaled, inputs.Repeat(0)), false},
		{numberFiles(t, 1), false},
	} {
		if got := inputs.InMemory(c.ds); got != c.want {
			t.Errorf("%v, expected %v", got, c.want)
		}
	}
}
