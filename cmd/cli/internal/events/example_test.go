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

// A Follower reads what was written since the last Poll.
func ExampleFollow() {
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w := summary.NewFileWriter(dir, summary.Options{})
	f := events.Follow(dir)
	for step := range int64(2) {
		if err := errors.Join(w.Scalar(step, "loss", 1/float64(step+1)), w.Flush()); err != nil {
			log.Fatal(err)
		}
		changed, err := f.Poll()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(changed, f.Curves()[0].Steps, f.Curves()[0].Values)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true [0] [1]
	// true [0 1] [1 0.5]
}
