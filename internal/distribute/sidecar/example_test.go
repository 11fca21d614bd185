package sidecar_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// reader evaluates by reading the step.
type reader struct{ dir string }

func (r reader) Evaluate(ctx context.Context, final bool) (int64, error) {
	c, err := checkpoint.OpenLatest(ctx, r.dir)
	if err != nil {
		return 0, err
	}
	fmt.Println("step", c.Step(), "is the last:", final)
	return c.Step(), c.Close()
}

func (r reader) Again(context.Context, string, bool) error { return nil }

// The newest checkpoint of a training to step 10 is evaluated.
func Example() {
	dir, err := os.MkdirTemp("", "sidecar-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	saver, err := checkpoint.NewSaver(dir, checkpoint.Options{MaxToKeep: 1})
	if err != nil {
		log.Fatal(err)
	}
	step := tensor.Scalar(int64(10))
	if _, err := saver.Save(context.Background(), checkpoint.Snapshot{Step: 10, Tensors: map[string]*tensor.Tensor{"global_step": step}}); err != nil {
		log.Fatal(err)
	}
	w := sidecar.Watch{Dir: dir, LastStep: 10, Evaluated: -1, Log: slog.New(slog.DiscardHandler)}
	if _, err := w.Run(context.Background(), reader{dir}); err != nil {
		log.Fatal(err)
	}
	// Output: step 10 is the last: true
}
