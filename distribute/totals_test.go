package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// newCount is a metric that is the number of examples.
func newCount() (metrics.Accumulator, error) {
	one := func(_, _ expr.Expr) []expr.Expr { return []expr.Expr{expr.Number(1)} }
	return metrics.NewFormula("count", one, func(sums []expr.Expr) expr.Expr { return sums[0] })
}

// counting is a strategy that trains a step on a number of rows and counts them.
func counting(rc runconfig.RunConfig) (s *distribute.Strategy, f *distribute.Function, count *distribute.Metric, err error) {
	if s, err = distribute.New(rc, quiet); err != nil {
		return s, f, count, err
	}
	if count, err = s.Metric("count", newCount); err != nil {
		return s, f, count, err
	}
	f, err = s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		loss := toyLoss(c)
		y := c.Arg("y", tensor.Float32)
		return distribute.Outputs{Loss: loss, Train: optimizers.SGD(0.01).Minimize(c, loss), Metrics: map[string][]*G.Node{"count": {y, y}}}, nil
	})
	return s, f, count, err
}

// TestTotalsOfAsynchronousWorkers: no update of a metric is lost if workers make updates in
// parallel. Checkpoints have the metric, also for another strategy.
func TestTotalsOfAsynchronousWorkers(t *testing.T) {
	const workers, steps, rows = 3, 15, 4
	for _, sync := range []bool{false, true} {
		dir := t.TempDir()
		c := setup{"parameter_server", runconfig.Strategy{Name: "parameter_server", Sync: sync}, workers, 2}
		for run := range 2 {
			want := float64(workers * steps * rows * (run + 1))
			c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
				s, f, count, err := counting(rc)
				if err != nil {
					return err
				}
				_, err = s.Restore(ctx)
				for range steps {
					if err == nil {
						_, err = f.Run(ctx, distribute.Batch{{"x": tensor.New(tensor.Float32, rows, 3), "y": tensor.New(tensor.Float32, rows)}})
					}
				}
				if rc.IsChief() && err == nil {
					if err = await(ctx, count, want); err == nil {
						_, err = s.Save(ctx)
					}
				}
				return errors.Join(err, s.Close(ctx))
			})
		}
		rc, err := runconfig.New(runconfig.ModelDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		s, _, count, err := counting(rc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := await(t.Context(), count, 2*workers*steps*rows); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// await waits until a count is reached.
func await(ctx context.Context, count *distribute.Metric, want float64) error {
	for {
		v, err := count.Result(ctx)
		if err != nil {
			return err
		}
		n, _ := v.Scalar()
		if n == want {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("counted %v, expected %v", n, want)
		}
		if n > want {
			return fmt.Errorf("counted %v, expected %v", n, want)
		}
	}
}
