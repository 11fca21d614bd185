package checkpoint_test

import (
	"context"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleSaver() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	saver, err := checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = saver.Save(ctx, checkpoint.Snapshot{
		Step:    100,
		Tensors: map[string]*tensor.Tensor{"dense/bias": tensor.Scalar(float32(0.5))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := checkpoint.OpenLatest(ctx, dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	bias, err := r.Tensor("dense/bias")
	fmt.Println(r.Step(), r.Names(), tensor.Values[float32](bias), err)
	// Output: 100 [dense/bias global_step] [0.5] <nil>
}
