package dataset_test

import (
	"context"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// Numbers are shuffled, as TensorFlow shuffles them for that seed, and batched.
func Example() {
	numbers, _ := dataset.Range(0, 6, 1, tensor.Int64)
	shuffled, _ := dataset.Shuffle(numbers, 4, dataset.NewSeeds(42, 11, true), 1)
	batches, _ := dataset.Batch(shuffled, 4, false)
	it, err := batches.Iterator(&dataset.Pass{Room: dataset.NewRoom(1 << 20), Limit: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer it.Close()
	for {
		e, err := it.Next(context.Background())
		if err == io.EOF {
			return
		}
		fmt.Println(tensor.Values[int64](e[0].T), err)
	}
	// Output:
	// [2 1 3 4] <nil>
	// [0 5] <nil>
}
