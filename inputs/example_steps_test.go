package inputs_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"log"
	"math"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleBatch() {
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Batch(2, false)))
	fmt.Println("without the rest:")
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Batch(2, true)))
	// Output:
	// x [1 2]
	// x [3 4]
	// x [5]
	// without the rest:
	// x [1 2]
	// x [3 4]
}

// Each epoch has its own order, which the seed decides. A buffer with fewer rows than the data mixes only neighbours.
func ExampleShuffle() {
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Shuffle(5, 1), inputs.Repeat(2), inputs.Batch(5, false)))
	// Output:
	// x [5 4 1 3 2]
	// x [2 5 4 1 3]
}

// Take and Skip divide rows by position.
func ExampleTake() {
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Skip(1), inputs.Take(3), inputs.Batch(9, false)))
	// Output:
	// x [2 3 4]
}

// The share of the second of two workers.
func ExampleShard() {
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4, 5), inputs.Shard(1, 2), inputs.Batch(9, false)))
	// Output:
	// x [2 4]
}

// The first of three folds is held out for evaluation; rows of one patient stay together.
func ExampleFolding() {
	rows := inputs.Zip(numbers("patient", 7, 8, 7, 9, 8, 7), numbers("x", 1, 2, 3, 4, 5, 6))
	by := inputs.Folding{Folds: 3, Group: "patient"}
	printColumns(inputs.Pipe(rows, by.Keep(0, false), inputs.Batch(9, false)))
	printColumns(inputs.Pipe(rows, by.Keep(0, true), inputs.Batch(9, false)))
	// Output:
	// patient [8 9 8] x [2 4 5]
	// patient [7 7 7] x [1 3 6]
}

func ExampleFold() {
	printColumns(inputs.Pipe(numbers("x", 0, 1, 2, 3, 4, 5), inputs.Fold(3, 1, true), inputs.Batch(9, false)))
	// Output:
	// x [1 4]
}

// Steps before Cache run once; a shuffle after it draws from all rows.
func ExampleCache() {
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3), inputs.Cache(), inputs.Repeat(2), inputs.Batch(6, false)))
	// Output:
	// x [1 2 3 1 2 3]
}

// Two goroutines decode batches ahead of training; the order of the batches does not change. A pass holds at most 1 MiB.
func ExampleParallelMap() {
	half := inputs.Normalize(inputs.Normalization{Columns: []string{"x"}, Scale: 2})
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3, 4), inputs.Batch(2, false), inputs.ParallelMap(half, 2), inputs.AutoPrefetch(), inputs.MemoryLimit(1<<20)))
	// Output:
	// x [0.5 1]
	// x [1.5 2]
}

// An expression makes a column of another type; a column that it used is dropped.
func ExampleCompute() {
	x, err := inputs.ParseExpression("x * x + 0.5")
	if err != nil {
		log.Fatal(err)
	}
	toInt, err := inputs.Cast(tensor.Int64, "rounded")
	if err != nil {
		log.Fatal(err)
	}
	round, err := inputs.ParseExpression("floor(y)")
	if err != nil {
		log.Fatal(err)
	}
	steps := inputs.Compose(inputs.Compute(inputs.Computed{Name: "y", Expression: x}), inputs.Compute(inputs.Computed{Name: "rounded", Expression: round}), toInt)
	printColumns(inputs.Pipe(numbers("x", 1, 2, 3), inputs.Map(steps), inputs.Project("y", "rounded"), inputs.Batch(3, false)))
	// Output:
	// y [1.5 4.5 9.5] rounded [1 4 9]
}

// Zero replaces NaN.
func ExampleFill() {
	ds := found(inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float64{1, math.NaN(), 3})))
	printColumns(inputs.Pipe(ds, inputs.Map(inputs.Fill(0)), inputs.Batch(3, false)))
	// Output:
	// x [1 0 3]
}

// One row for each entry of a list in a text.
func ExampleSplitText() {
	films := found(inputs.Slices(nil, inputs.Strings("film", inputs.Feature, []string{"Up", "Heat"}), inputs.Strings("kinds", inputs.Feature, []string{"comedy, drama", "crime"})))
	ds := inputs.Pipe(films, inputs.Map(inputs.SplitText("kinds", ",")), inputs.Unbatch("kinds"), inputs.Batch(9, false))
	printColumns(ds)
	// Output:
	// film [Up Up Heat] kinds [comedy drama crime]
}

// A column of PNG files becomes a column of pixels, all of one size.
func ExampleDecode() {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		log.Fatal(err)
	}
	ds := found(inputs.Slices(nil, inputs.Strings("image", inputs.Feature, []string{file.String()})))
	fmt.Println(inputs.Pipe(ds, inputs.Map(inputs.Decode(inputs.Decoding{Column: "image", Shape: []int{8, 8, 3}}))).Schema())
	// Output: image uint8[8 8 3] feature
}

// Two RandAugment operations for each image, different in each epoch.
func ExampleRandAugment() {
	digits := found(inputs.Glyphs(1, 100, nil))
	ds := inputs.Pipe(digits, inputs.Repeat(2), inputs.Batch(50, true), inputs.ParallelMap(inputs.RandAugment(inputs.RandAugmentation{Ops: 2, Magnitude: 9, Seed: 7}), 2))
	fmt.Println(ds.Schema())
	// Output: image uint8[28 28 1] feature, label int64 label
}
