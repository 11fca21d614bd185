package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// treeData is a table with numbers first in each row, then ids.
type treeData struct {
	rows, numbers int
	ids           []int     // number of ids in each id column
	x             []float32 // [rows, numbers+len(ids)]; an unknown id is -1
	y             []float32
}

func (d *treeData) width() int { return d.numbers + len(d.ids) }

// input is all data in one batch.
func (d *treeData) input(classes bool) estimator.InputFn {
	var cols []inputs.NamedTensor
	for c := range d.width() {
		if c < d.numbers {
			v := make([]float32, d.rows)
			for r := range v {
				v[r] = d.x[r*d.width()+c]
			}
			cols = append(cols, inputs.Slice(treeColumn(c), inputs.Feature, v))
			continue
		}
		v := make([]int64, d.rows)
		for r := range v {
			v[r] = int64(d.x[r*d.width()+c])
		}
		cols = append(cols, inputs.Slice(treeColumn(c), inputs.Feature, v))
	}
	if classes {
		v := make([]int64, d.rows)
		for r := range v {
			v[r] = int64(d.y[r])
		}
		cols = append(cols, inputs.Slice("y", inputs.Label, v))
	} else {
		cols = append(cols, inputs.Slice("y", inputs.Label, d.y))
	}
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, cols...)
		if err != nil {
			return nil, err
		}
		if ic.Mode == inputs.Train {
			return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(d.rows, false)), nil
		}
		return inputs.Pipe(ds, inputs.Batch(d.rows, false)), nil
	})
}

func treeColumn(c int) string { return fmt.Sprintf("c%02d", c) }

// The settings of all contenders: trees, depth, learning rate and buckets.
const (
	treeCount   = 100
	treeDepth   = 6
	treeBuckets = 256
)

// treeModel uses XGBoost's defaults of 1 for lambda and min_child_weight.
func treeModel(d *treeData, classes bool) (*canned.BoostedTrees, error) {
	o := canned.BoostedTreesOptions{Trees: treeCount, MaxDepth: treeDepth, LearningRate: 0.1, TrainInMemory: true,
		QuantileSketchEpsilon: 1.0 / treeBuckets, L2: 1 / float64(d.rows), MinNodeWeight: 1 / float64(d.rows)}
	for c := range d.width() {
		if c < d.numbers {
			o.Columns = append(o.Columns, &feature.Numeric{Key: treeColumn(c)})
		} else {
			o.Columns = append(o.Columns, &feature.Identity{Key: treeColumn(c), Size: d.ids[c-d.numbers]})
		}
	}
	if classes {
		return canned.BoostedTreesClassifier{BoostedTreesOptions: o}.ModelFn()
	}
	o.L2, o.MinNodeWeight = 2*o.L2, 2*o.MinNodeWeight // the hessian of the squared difference is 2, in XGBoost 1
	return canned.BoostedTreesRegressor{BoostedTreesOptions: o}.ModelFn()
}

// treeCase is a data set's training and test data.
type treeCase struct {
	train, test *treeData
	classes     bool
}

// fit trains and, if asked to, evaluates. It returns the training time in seconds and the test loss.
func (c *treeCase) fit(evaluate bool) (seconds, loss float64, err error) {
	dir, err := os.MkdirTemp("", "bench-trees-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	fn, err := treeModel(c.train, c.classes)
	if err != nil {
		return 0, 0, err
	}
	e, err := estimator.New(fn, estimator.WithModelDir(filepath.Join(dir, "model")), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	if _, err := e.Train(context.Background(), c.train.input(c.classes), estimator.MaxSteps(1)); err != nil {
		return 0, 0, err
	}
	seconds = time.Since(begun).Seconds()
	if !evaluate {
		return seconds, 0, nil
	}
	r, err := e.Evaluate(context.Background(), c.test.input(c.classes))
	if err != nil {
		return 0, 0, err
	}
	loss, _ = r.Scalar("average_loss")
	if !c.classes {
		loss = math.Sqrt(loss)
	}
	return seconds, loss, nil
}

// treesWorker repeatedly trains the cases in DIR.
func treesWorker(l *link, args []string) error {
	cases, values := map[string]*treeCase{}, map[string][]float64{}
	for _, name := range treeCases {
		c, err := readTreeCase(filepath.Join(args[0], name))
		if err != nil {
			return err
		}
		_, loss, err := c.fit(true)
		if err != nil {
			return err
		}
		cases[name], values[name] = c, []float64{loss}
	}
	if err := l.send(reply{Values: values, Version: runtime.Version()}); err != nil {
		return err
	}
	for {
		cmd, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		total := 0.0
		for range cmd.steps {
			s, _, err := cases[cmd.name].fit(false)
			if err != nil {
				return err
			}
			total += s
		}
		if err := l.send(reply{Seconds: total, PeakKB: peakKB()}); err != nil {
			return err
		}
	}
}
