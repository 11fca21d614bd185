package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// together runs f in both tasks of a cluster, with a strategy that has made one step.
func together(t *testing.T, f func(ctx context.Context, y *toy, res *distribute.Result) error) {
	t.Helper()
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		y, err := newToy(s, t, toyBatch*toyBatches, adam())
		if err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		it, err := y.data.Iterate(ctx)
		if err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		res, err := y.train.Run(ctx, batch)
		if err == nil {
			err = f(ctx, y, res)
		}
		return errors.Join(err, s.Close(ctx), s.Close(ctx))
	})
}

// TestOtherCalls: if tasks in lock step make different calls at the same time, both get an error.
func TestOtherCalls(t *testing.T) {
	calls := map[string]func(ctx context.Context, y *toy, v distribute.PerReplica) error{
		"sum": func(ctx context.Context, y *toy, v distribute.PerReplica) error {
			_, err := y.Reduce(ctx, distribute.Sum, v)
			return err
		},
		"mean": func(ctx context.Context, y *toy, v distribute.PerReplica) error {
			_, err := y.Reduce(ctx, distribute.Mean, v)
			return err
		},
		"gather": func(ctx context.Context, y *toy, v distribute.PerReplica) error {
			_, err := y.Gather(ctx, v)
			return err
		},
		"seen": func(ctx context.Context, y *toy, _ distribute.PerReplica) error {
			_, err := y.seen.Result(ctx)
			return err
		},
		"accuracy": func(ctx context.Context, y *toy, _ distribute.PerReplica) error {
			_, err := y.accuracy.Result(ctx)
			return err
		},
		"save": func(ctx context.Context, y *toy, _ distribute.PerReplica) error { _, err := y.Save(ctx); return err },
	}
	for _, c := range [][2]string{{"sum", "mean"}, {"sum", "gather"}, {"seen", "accuracy"}, {"seen", "sum"}, {"save", "gather"}} {
		t.Run(c[0]+" and "+c[1], func(t *testing.T) {
			together(t, func(ctx context.Context, y *toy, res *distribute.Result) error {
				v, err := res.Value("logits")
				if err != nil {
					return err
				}
				mine := c[1]
				if y.IsChief() {
					mine = c[0]
				}
				if err := calls[mine](ctx, y, v); !errors.Is(err, distribute.ErrDiffer) {
					return fmt.Errorf("%s: got %w, expected that the calls differ", mine, err)
				}
				return nil
			})
		})
	}
}

// TestOtherOrderOfFunctions: functions with variables of the same shapes are not confused.
func TestOtherOrderOfFunctions(t *testing.T) {
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		var fs []*distribute.Function
		for _, name := range []string{"a", "b"} {
			f, err := s.Function(name, models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
				var loss *G.Node
				c.Scope(name, func() { loss = toyLoss(c) })
				return distribute.Outputs{Loss: loss, Train: optimizers.SGD(0.1).Minimize(c, loss)}, nil
			})
			if err != nil {
				return errors.Join(err, s.Close(ctx))
			}
			fs = append(fs, f)
		}
		if !rc.IsChief() {
			fs[0], fs[1] = fs[1], fs[0]
		}
		if _, err := s.Restore(ctx); err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		_, err = fs[0].Run(ctx, distribute.Batch{{"x": tensor.New(tensor.Float32, 2, 3)}})
		expect(t, err, "the workers' programs differ")
		_ = s.Close(ctx) // the ring is gone
		return nil
	})
}

// TestRestoreAgain: if a task begins again, the others' step fails with an error that asks to restore. All continue
// from the checkpoint, or from the beginning.
func TestRestoreAgain(t *testing.T) {
	for _, saved := range []int64{0, 2} {
		t.Run(fmt.Sprint("checkpoint ", saved), func(t *testing.T) {
			want := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
			setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
				s, err := distribute.New(rc, quiet)
				if err != nil {
					return err
				}
				y, err := newToy(s, t, toyBatch*toyBatches, adam())
				if err == nil {
					err = y.breakOff(ctx, saved)
				}
				if err == nil {
					err = y.goOn(ctx, t, want, saved)
				}
				return errors.Join(err, s.Close(ctx))
			})
		})
	}
}

// breakOff makes three steps, saves a checkpoint on the way, and makes a fourth from which one task stays away.
func (y *toy) breakOff(ctx context.Context, saved int64) error {
	it, err := y.data.Iterate(ctx)
	if err != nil {
		return err
	}
	for n := range int64(4) {
		if n == saved && saved > 0 {
			if _, err := y.Save(ctx); err != nil {
				return err
			}
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return err
		}
		if n == 3 && !y.IsChief() {
			return nil
		}
		if _, err = y.train.Run(ctx, batch); n == 3 && !errors.Is(err, distribute.ErrSessionLost) {
			return fmt.Errorf("got %w, expected that the session is lost", err)
		} else if n < 3 && err != nil {
			return err
		}
	}
	return nil
}

// goOn restores the checkpoint and trains to the end.
func (y *toy) goOn(ctx context.Context, t *testing.T, want trace, from int64) error {
	step, err := y.Restore(ctx)
	if err != nil {
		return err
	}
	if step != from {
		return fmt.Errorf("restored step %d, expected %d", step, from)
	}
	losses, err := y.epoch(ctx)
	if err != nil {
		return err
	}
	compareTraces(t, trace{losses: want.losses[from:]}, trace{losses: losses}, 1e-5)
	seen, err := y.seen.Result(ctx)
	if got, _ := seen.Scalar(); err == nil && got != want.seen {
		t.Errorf("metric %v, expected %v", got, want.seen)
	}
	return err
}

// TestSaveBetweenPasses: if a checkpoint was made after a pass, all tasks begin the next one.
func TestSaveBetweenPasses(t *testing.T) {
	for _, c := range []setup{setups[0], setups[5]} {
		dir := t.TempDir()
		for pass := range 2 {
			c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
				s, f, count, err := counting(rc)
				if err != nil {
					return errors.Join(err, s.Close(ctx))
				}
				in, err := s.Distribute(countData(t), 4, distribute.ShardRows)
				if err == nil {
					_, err = s.Restore(ctx)
				}
				if err == nil {
					err = each(ctx, f, in)
				}
				if err == nil {
					err = expectCount(ctx, count, float64(16*(pass+1)))
				}
				if err == nil {
					_, err = s.Save(ctx)
				}
				return errors.Join(err, s.Close(ctx))
			})
		}
	}
}

// countData is 16 rows for a counting strategy.
func countData(t *testing.T) inputs.Dataset {
	t.Helper()
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, make([]float32, 48), 3), inputs.Slice("y", inputs.Label, make([]float32, 16)))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// each runs a function on all batches of a pass, which stays open.
func each(ctx context.Context, f *distribute.Function, in *distribute.Input) error {
	it, err := in.Iterate(ctx)
	if err != nil {
		return err
	}
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = f.Run(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
}

// expectCount checks a metric.
func expectCount(ctx context.Context, count *distribute.Metric, want float64) error {
	v, err := count.Result(ctx)
	if got, _ := v.Scalar(); err == nil && got != want {
		err = fmt.Errorf("counted %v, expected %v", got, want)
	}
	return err
}
