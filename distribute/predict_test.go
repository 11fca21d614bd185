package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// seer predicts twice the row's number, and a network's output.
type seer struct {
	*distribute.Strategy
	train, predict, whole *distribute.Function
}

func newSeer(rc runconfig.RunConfig) (p *seer, err error) {
	p = &seer{}
	if p.Strategy, err = distribute.New(rc, quiet); err != nil {
		return nil, err
	}
	sgd := optimizers.SGD(0.1)
	p.train, err = p.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		x := c.Arg("x", tensor.Float32, 1)
		loss := losses.MeanSquaredError(c, x, layers.Dense(c, x, 1, layers.Weights{}), losses.Options{})
		return distribute.Outputs{Loss: loss, Train: sgd.Minimize(c, loss)}, nil
	})
	if err == nil {
		p.predict, err = p.Function("predict", models.Predict, func(c *distribute.Context) (distribute.Outputs, error) {
			x := c.Arg("x", tensor.Float32, 1)
			return distribute.Outputs{Values: map[string]*G.Node{"twice": ops.Add(c, x, x), "y": layers.Dense(c, x, 1, layers.Weights{})}}, nil
		})
	}
	if err == nil {
		p.whole, err = p.Function("whole", models.Predict, func(c *distribute.Context) (distribute.Outputs, error) {
			return distribute.Outputs{Values: map[string]*G.Node{"mean": ops.Mean(c, c.Arg("x", tensor.Float32, 1))}}, nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, p.Close(context.Background()))
	}
	return p, nil
}

// numbered returns n rows, 0, 1, 2, ..., in batches of 4.
func numbered(t testing.TB, rows int) inputs.Dataset {
	t.Helper()
	x, unused := make([]float32, rows+1), make([]int32, rows+1)
	for i := range x {
		x[i] = float32(i)
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("unused", inputs.Label, unused))
	if err != nil {
		t.Fatal(err)
	}
	return inputs.Pipe(ds, inputs.Take(int64(rows)), inputs.Batch(4, false))
}

// inOrder returns the network's output for each row, or an error if rows are not 0, 1, 2, ...
func inOrder(rows iter.Seq2[distribute.Tensors, error], each func(row int) error) ([]float32, error) {
	var y []float32
	for batch, err := range rows {
		if err != nil {
			return nil, err
		}
		for i, twice := range tensor.Values[float32](batch["twice"]) {
			if int(twice) != 2*len(y) {
				return y, fmt.Errorf("row %d has twice %v", len(y), twice)
			}
			y = append(y, tensor.Values[float32](batch["y"])[i])
		}
		if err := each(len(y)); err != nil {
			return nil, err
		}
	}
	return y, nil
}

func nothing(int) error { return nil }

// TestPredictInOrder: rows come in order, each once, from all replicas, also for incomplete batches, one row and none.
func TestPredictInOrder(t *testing.T) {
	for _, rows := range []int{0, 1, 4, 13, 50} {
		var mu sync.Mutex // tasks are goroutines
		var want []float32
		for _, c := range setups {
			t.Run(fmt.Sprint(rows, " rows, ", c.name), func(t *testing.T) {
				c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
					p, err := newSeer(rc)
					if err != nil {
						return err
					}
					y, err := inOrder(p.predict.Predict(ctx, numbered(t, rows)), nothing)
					mu.Lock()
					if want == nil {
						want = y
					}
					if len(y) != rows || fmt.Sprint(y) != fmt.Sprint(want) {
						t.Errorf("%d rows %v, expected %d: %v", len(y), y, rows, want)
					}
					mu.Unlock() // the others wait for each other in Close
					return errors.Join(err, p.Close(ctx))
				})
			})
		}
	}
}

// onChief runs a program on the chief of a job with three workers, and then ends the job.
func onChief(t *testing.T, program func(ctx context.Context, p *seer, c *distribute.Coordinator) error) {
	t.Helper()
	onChiefOf(t, runconfig.Strategy{Name: "parameter_server"}, program)
}

func onChiefOf(t *testing.T, strategy runconfig.Strategy, program func(ctx context.Context, p *seer, c *distribute.Coordinator) error) {
	t.Helper()
	job := setup{"predicted", strategy, 4, 2}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newSeer(rc)
		if err != nil {
			return err
		}
		if !rc.IsChief() {
			return errors.Join(p.Work(ctx), p.Close(ctx))
		}
		c, err := distribute.NewCoordinator(ctx, p.Strategy)
		if err == nil {
			err = errors.Join(program(ctx, p, c), c.Close(ctx))
		}
		return errors.Join(err, p.Close(ctx))
	})
}

// TestCoordinatorPredicts: all workers predict, and rows come in order, each once.
func TestCoordinatorPredicts(t *testing.T) {
	onChief(t, compareOrder(t))
}

// TestCoordinatorPredictsForReplicas: the rows of all parts come if each task has several replicas.
func TestCoordinatorPredictsForReplicas(t *testing.T) {
	onChiefOf(t, runconfig.Strategy{Name: "parameter_server", Replicas: 2, Device: "/cpu:0"}, compareOrder(t))
}

// compareOrder compares predictions on workers with the chief's.
func compareOrder(t *testing.T) func(ctx context.Context, p *seer, c *distribute.Coordinator) error {
	return func(ctx context.Context, p *seer, c *distribute.Coordinator) error {
		for _, rows := range []int{0, 1, 50, 203} {
			want, err := inOrder(p.predict.Predict(ctx, numbered(t, rows)), nothing)
			if err != nil {
				return err
			}
			got, err := inOrder(c.Predict(ctx, p.predict, numbered(t, rows)), nothing)
			if err != nil {
				return err
			}
			if len(got) != rows || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d rows %v, expected %d: %v", len(got), got, rows, want)
			}
		}
		return nil
	}
}

// countingRows counts the records that were read.
type countingRows struct {
	inputs.Dataset
	read atomic.Int64
	fail int64 // the record that cannot be read; 0: none
}

func (d *countingRows) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return &countingIterator{it, d}, err
}

type countingIterator struct {
	inputs.Iterator
	of *countingRows
}

func (it *countingIterator) Next(ctx context.Context) (arrow.Record, error) {
	if n := it.of.read.Add(1); n == it.of.fail {
		return nil, errMade
	}
	return it.Iterator.Next(ctx)
}

// TestCoordinatorPredictsWithBoundedMemory: batches are read only as results are consumed, and a caller may stop.
func TestCoordinatorPredictsWithBoundedMemory(t *testing.T) {
	const ahead = 3 * 3 // three batches for each worker
	onChief(t, func(ctx context.Context, p *seer, c *distribute.Coordinator) error {
		ds := &countingRows{Dataset: numbered(t, 400)}
		_, err := inOrder(c.Predict(ctx, p.predict, ds), func(row int) error {
			if n, taken := ds.read.Load(), int64(row/4); n > taken+ahead {
				t.Errorf("%d batches were read when %d were taken", n, taken)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, err := range c.Predict(ctx, p.predict, numbered(t, 400)) {
			if err != nil {
				return err
			}
			break
		}
		if done, err := c.Done(); !done || err != nil {
			t.Errorf("done: %v, %v, expected that nothing runs", done, err)
		}
		return nil
	})
}

// TestPredictErrors: an error ends the sequence, and the coordinator still works.
func TestPredictErrors(t *testing.T) {
	onChief(t, func(ctx context.Context, p *seer, c *distribute.Coordinator) error {
		wrong, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{1, 2}, 2))
		if err != nil {
			return err
		}
		for text, rows := range map[string]iter.Seq2[distribute.Tensors, error]{
			errMade.Error():        c.Predict(ctx, p.predict, &countingRows{Dataset: numbered(t, 400), fail: 30}),
			`argument "x"`:         c.Predict(ctx, p.predict, wrong),
			"the function trains":  c.Predict(ctx, p.train, numbered(t, 4)),
			"expected a row for":   c.Predict(ctx, p.whole, numbered(t, 4)),
			"expected a data set":  c.Predict(ctx, p.predict, nil),
			"coordinator's":        c.Predict(ctx, nil, numbered(t, 4)),
			`by "train": the`:      p.train.Predict(ctx, numbered(t, 4)),
			"has the shape [] for": p.whole.Predict(ctx, numbered(t, 4)),
			"part 0: argument":     p.predict.Predict(ctx, wrong),
		} {
			var last error
			for _, last = range rows {
			}
			if last == nil || !strings.Contains(last.Error(), text) {
				t.Errorf("%v, expected %q", last, text)
			}
			if done, err := c.Done(); !done || err != nil {
				t.Errorf("%s: done %v, %v, expected that nothing runs", text, done, err)
			}
		}
		ended, cancel := context.WithCancel(ctx)
		defer cancel()
		var last error
		for _, last = range c.Predict(ended, p.predict, numbered(t, 4000)) {
			cancel()
		}
		if !errors.Is(last, context.Canceled) || errors.Is(last, io.EOF) {
			t.Errorf("%v, expected the end of the context", last)
		}
		return c.Join(ctx)
	})
}
