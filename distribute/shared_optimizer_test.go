package distribute_test

import (
	"context"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// alternately trains by one or two functions with the same optimizer, in turn, and returns all variables.
func (c setup) alternately(t *testing.T, functions int) (all map[string]*tensor.Tensor) {
	t.Helper()
	c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) (err error) {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(ctx)) }()
		var fs []*distribute.Function
		shared := adam()
		newAccuracy(s)
		for _, name := range []string{"odd", "even"}[:functions] {
			f, err := s.Function(name, models.Train, toyTrain(shared))
			if err != nil {
				return err
			}
			fs = append(fs, f)
		}
		in, err := s.Distribute(toyData(t, toyBatch*toyBatches), toyBatch, distribute.ShardAuto)
		if err != nil {
			return err
		}
		it, err := in.Iterate(ctx)
		if err != nil {
			return err
		}
		for i := range toyBatches {
			b, err := it.Next(ctx)
			if err == nil {
				_, err = fs[i%functions].Run(ctx, b)
			}
			if err != nil {
				return err
			}
		}
		mine := map[string]*tensor.Tensor{}
		for _, name := range s.VariableNames() {
			if mine[name], err = s.Variable(name); err != nil {
				return err
			}
		}
		if rc.IsChief() {
			all = mine
		}
		_, err = s.Save(ctx)
		return err
	})
	return all
}

// newAccuracy makes the metric that toyTrain updates.
func newAccuracy(s *distribute.Strategy) {
	if _, err := s.Metric("seen", func() (metrics.Accumulator, error) { return metrics.New("accuracy") }); err != nil {
		panic(err)
	}
}

// TestSharedOptimizer: two functions with the same optimizer, run in turn, make the same steps as one function: they share
// variables, moments and powers.
func TestSharedOptimizer(t *testing.T) {
	want := setups[0].alternately(t, 1)
	for _, c := range []setup{setups[0], setups[2], setups[3], setups[5]} {
		t.Run(c.name, func(t *testing.T) {
			compareTraces(t, trace{variables: want}, trace{variables: c.alternately(t, 2)}, 1e-5)
		})
	}
}

// TestSharedOptimizerRefused: if the state cannot be shared, the error names both functions.
func TestSharedOptimizerRefused(t *testing.T) {
	accumulating := optimizers.Adam(0.01, optimizers.WithAccumulateSteps(2))
	for _, c := range []struct {
		of   [2]*optimizers.Optimizer
		want string
	}{
		{[2]*optimizers.Optimizer{adam(), adam()}, "an optimizer each"},
		{[2]*optimizers.Optimizer{accumulating, accumulating}, "accumulates gradients"},
	} {
		rc, err := runconfig.New()
		if err != nil {
			t.Fatal(err)
		}
		s, err := distribute.New(rc, quiet)
		if err != nil {
			t.Fatal(err)
		}
		newAccuracy(s)
		for i, name := range []string{"a", "b"} {
			if _, err := s.Function(name, models.Train, toyTrain(c.of[i])); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.Restore(t.Context())
		expect(t, err, c.want)
		expect(t, s.Close(t.Context()), "")
	}
}
