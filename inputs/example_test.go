package inputs_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
)

// A pipeline from slices to batches of tensors.
func Example() {
	src, err := inputs.Slices(nil,
		inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6}, 2),
		inputs.Slice("y", inputs.Label, []int64{0, 1, 0}))
	if err != nil {
		log.Fatal(err)
	}
	ds := inputs.Pipe(src, inputs.Repeat(2), inputs.Batch(4, false), inputs.Prefetch(2))
	ctx := context.Background()
	it, err := ds.Iterate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		tensors, err := inputs.Tensors(rec, ds.Schema())
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range tensors {
			fmt.Println(t.Name, t.Role, t.Tensor.DType, t.Tensor.Shape)
		}
		rec.Release()
	}
	// Output:
	// x feature float32 [4 2]
	// y label int64 [4]
	// x feature float32 [2 2]
	// y label int64 [2]
}

// A position is saved and restored exactly, shuffle buffer included.
func ExampleIterator() {
	src, err := inputs.Glyphs(7, 1000, nil)
	if err != nil {
		log.Fatal(err)
	}
	ds := inputs.Pipe(src, inputs.Shuffle(1000, 7), inputs.Repeat(0), inputs.Batch(10, true))
	labels := func(it inputs.Iterator) string {
		rec, err := it.Next(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		defer rec.Release()
		return rec.Column(1).String()
	}
	first, err := ds.Iterate(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	labels(first)
	state, err := first.State()
	if err != nil {
		log.Fatal(err)
	}
	second, err := ds.Iterate(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	if err := second.Restore(state); err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels(first) == labels(second))
	// Output: true
}

// Keep the even labels of the built-in digits.
func ExampleFilter() {
	src, err := inputs.Glyphs(7, 1000, nil)
	if err != nil {
		log.Fatal(err)
	}
	even := inputs.Filter("even", func(_ context.Context, rec arrow.Record, keep []bool) error {
		label := rec.Column(1).(interface{ Value(int) int64 })
		for i := range keep {
			keep[i] = label.Value(i)%2 == 0
		}
		return nil
	})
	it, err := inputs.Pipe(src, even, inputs.Batch(5, true)).Iterate(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Release()
	fmt.Println(rec.NumRows(), strings.ContainsAny(rec.Column(1).String(), "13579"))
	// Output: 5 false
}

// Open builds a pipeline from the settings of a config file.
func ExampleOpen() {
	ds, err := inputs.Open(context.Background(),
		inputs.Spec{Format: "glyphs", BatchSize: 128, Scale: 255, Prefetch: -1},
		inputs.Context{Mode: inputs.Train, Seed: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema())
	// Output: image float32[28 28 1] feature, label int64 label
}
