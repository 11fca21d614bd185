package inputs_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/inputs"
)

// A Meter tells which step of a pipeline is the slowest.
func ExampleMeter() {
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, make([]float32, 8)))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := inputs.NewMeter()
	it, err := inputs.Pipe(ds, inputs.Shuffle(4, 1), inputs.Batch(2, false)).Iterate(inputs.WithMeter(context.Background(), m))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer it.Close()
	for range 4 {
		rec, err := it.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		rec.Release()
	}
	for _, step := range m.Steps() {
		fmt.Println(step.Name, "in part", step.Part)
	}
	// Output:
	// shuffle of records in part 0
	// batch in part 0
}
