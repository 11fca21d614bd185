package inputs_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/inputs"
)

// numbers returns rows of one column.
func numbers(name string, values ...int64) inputs.Dataset {
	ds, err := inputs.Slices(nil, inputs.Slice(name, inputs.Feature, values))
	if err != nil {
		log.Fatal(err)
	}
	return ds
}

// lists returns rows of a ragged column.
func lists(values ...[]int64) inputs.Dataset {
	type row struct {
		Words []int64 `input:"words"`
	}
	var rows []row
	for _, v := range values {
		rows = append(rows, row{v})
	}
	ds, err := inputs.FromStructs(rows, inputs.ArrowOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return ds
}

func ExampleConcatenate() {
	printColumns(inputs.Concatenate(numbers("x", 1, 2, 3), numbers("x", 10, 20)))
	// Output:
	// x [1 2 3 10 20]
}

func ExampleZip() {
	printColumns(inputs.Zip(numbers("x", 1, 2, 3), numbers("y", 10, 20)))
	// Output:
	// x [1 2] y [10 20]
}

func ExampleInterleave() {
	printColumns(inputs.Interleave(2, 1, numbers("x", 1, 2, 3, 4), numbers("x", 10, 20), numbers("x", 100)))
	// Output:
	// x [1 10 2 20 3 4 100]
}

// Three rows of the first data set to one row of the second.
func ExampleMix() {
	printColumns(inputs.Mix(inputs.Mixture{Weights: []float64{3, 1}, Seed: 1}, numbers("x", 1, 2, 3, 4, 5, 6), numbers("x", 10, 20)))
	// Output:
	// x [10 1 20 2 3 4 5 6]
}

// Each row becomes as many copies as its number says.
func ExampleFlatMap() {
	repeat := inputs.Mapper{Name: "repeat", Map: func(_ context.Context, in arrow.Record, rows inputs.Rows) (arrow.Record, error) {
		b := array.NewRecordBuilder(rows.Allocator, in.Schema())
		defer b.Release()
		for _, x := range in.Column(0).(*array.Int64).Int64Values() {
			for range x {
				b.Field(0).(*array.Int64Builder).Append(x)
			}
		}
		return b.NewRecord(), nil
	}}
	printColumns(inputs.Pipe(numbers("x", 2, 0, 3), inputs.FlatMap(repeat)))
	// Output:
	// x [2 2 3 3 3]
}

// Each row is a window of three consecutive values of a time series.
func ExampleWindow() {
	ds := inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Window(inputs.Windows{Size: 3, Shift: 1}))
	fmt.Println(ds.Schema())
	printColumns(ds)
	// Output:
	// x int64[3] feature
	// x [1 2 3 2 3 4 3 4 5]
}

func ExampleUnbatch() {
	ds := inputs.Pipe(lists([]int64{1, 2}, nil, []int64{3}), inputs.Unbatch())
	fmt.Println(ds.Schema())
	printColumns(ds)
	// Output:
	// words int64 feature
	// words [1 2 3]
}

func ExamplePaddedBatch() {
	ds := inputs.Pipe(lists([]int64{1, 2}, nil, []int64{3}), inputs.PaddedBatch(2, false, inputs.Padding{Column: "words", Length: 3, Value: -1}))
	fmt.Println(ds.Schema())
	printColumns(ds)
	// Output:
	// words int64[3] feature
	// words [1 2 -1 -1 -1 -1]
	// words [3 -1 -1]
}

func ExamplePad() {
	printColumns(inputs.Pipe(lists([]int64{1, 2, 3}), inputs.Map(inputs.Pad(inputs.Padding{Column: "words", Length: 2, Truncate: true}))))
	// Output:
	// words [1 2]
}

// Short rows come in batches of three, long ones in batches of one.
func ExampleBucketByLength() {
	ds := lists([]int64{1}, []int64{2, 2, 2, 2}, []int64{3}, nil, []int64{4})
	printColumns(inputs.Pipe(ds, inputs.BucketByLength(inputs.Buckets{Column: "words", Boundaries: []int{3}, BatchSizes: []int{3, 1}})))
	// Output:
	// words [2 2 2 2]
	// words [1 3]
	// words [4]
}

// Pairs of numbers with the same parity.
func ExampleGroupBy() {
	parity := inputs.Grouping{Name: "parity", Size: func(int64) int { return 2 }, Key: func(_ context.Context, rec arrow.Record, keys []int64) error {
		for i, x := range rec.Column(0).(*array.Int64).Int64Values() {
			keys[i] = x % 2
		}
		return nil
	}}
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 5, 4), inputs.GroupBy(parity)))
	// Output:
	// x [1 3]
	// x [2 4]
	// x [5]
}

func ExampleDedupe() {
	printColumns(inputs.Pipe(numbers("x", 3, 1, 3, 3, 2, 1), inputs.Dedupe("x")))
	// Output:
	// x [3 1 2]
}

// A class with four times as many rows keeps every fourth row, on average.
func ExampleResample() {
	ds := inputs.Pipe(numbers("class", 0, 0, 0, 0, 1), inputs.Repeat(3),
		inputs.Resample(inputs.Classes{Column: "class", Target: []float64{0.5, 0.5}, Initial: []float64{0.8, 0.2}, Seed: 2}), inputs.Batch(100, false))
	printColumns(ds)
	// Output:
	// class [0 0 1 0 0 1 0 1]
}

// The second epoch reads the file that the first one wrote.
func ExampleSnapshot() {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3), inputs.Snapshot(dir), inputs.Repeat(2), inputs.Batch(6, false)))
	// Output:
	// x [1 2 3 1 2 3]
}

func ExampleRename() {
	printColumns(inputs.Pipe(numbers("x", 1, 2), inputs.Rename(map[string]string{"x": "y"})))
	// Output:
	// y [1 2]
}
