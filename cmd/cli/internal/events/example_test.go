package events_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/internal/format/summary"
)

// Training and evaluation write to a model_dir; Load sorts what they wrote.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	train := summary.NewFileWriter(dir, summary.Options{})
	eval := summary.NewFileWriter(filepath.Join(dir, "eval"), summary.Options{})
	err = errors.Join(
		train.Scalar(1, "loss", 0.75), train.Scalar(2, "loss", 0.5), train.Close(),
		eval.Scalar(2, "accuracy", 0.875), eval.Close())
	if err != nil {
		log.Fatal(err)
	}

	runs, err := events.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		for _, tag := range run.Tags {
			last := tag.Last()
			fmt.Println(run.Name, tag.Name, tag.Kind, len(tag.Points), "points, at step", last.Step, last.Scalar)
		}
	}
	// Output:
	// . loss scalar 2 points, at step 2 0.5
	// eval accuracy scalar 1 points, at step 2 0.875
}
