package saved_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// A checkpoint of a strategy's variables, with the model's seed and the position of the first worker's input.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "saved")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	saver, err := checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: 1})
	if err != nil {
		log.Fatal(err)
	}
	snapshot := &distribute.Snapshot{Step: 7, Tensors: map[string]*tensor.Tensor{"w": tensor.Scalar(float32(0.5))}}
	_, err = saved.Write(context.Background(), saver, snapshot, saved.Extra{Strings: map[string][]byte{
		saved.SeedKey:     []byte("42"),
		saved.InputKey(0): []byte("row 128"),
	}})
	if err != nil {
		log.Fatal(err)
	}

	r, err := checkpoint.OpenLatest(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	seed, ok, err := saved.String(r, saved.SeedKey)
	fmt.Println(r.Step(), string(seed), ok, err)
	positions, err := saved.Positions(r)
	fmt.Println(len(positions), string(positions[0]), err)
	// Output:
	// 7 42 true <nil>
	// 1 row 128 <nil>
}
