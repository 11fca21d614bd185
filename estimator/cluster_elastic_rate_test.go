package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

const fallingRate = 2e-6

// fallingLine is y = w·x + b, starting at zero, with a falling learning rate.
func fallingLine(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := features.Dense("x")
	y := layers.Dense(mc, x, 1, layers.Weights{KernelInit: initializers.Zeros()})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"row": x}}
	spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	if mc.Mode() == models.Train {
		o := optimizers.SGD(0)
		o.LearningRate = optimizers.Exponential{Decay: optimizers.Decay{Initial: fallingRate, Steps: 10, Rate: 0.5}}
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// fallingLosses trains the line by hand on the rows of each step, with a factor of the learning rate.
func fallingLosses(steps [][]float32, factors []float64) (all []float64) {
	w, b := 0.0, 0.0
	for i, rows := range steps {
		loss, dw, db := 0.0, 0.0, 0.0
		for _, x := range rows {
			d := w*float64(x) + b - float64(x)
			loss, dw, db = loss+d*d, dw+2*d*float64(x), db+2*d
		}
		n := float64(len(rows))
		rate := factors[i] * fallingRate * math.Pow(0.5, float64(i)/10)
		w, b = w-rate*dw/n, b-rate*db/n
		all = append(all, loss/n)
	}
	return all
}

// TestElasticScaleLR: the rate follows the number of workers. A restart with two knows that training began with three.
// The losses are those computed by hand.
func TestElasticScaleLR(t *testing.T) {
	j := &journal{rows: map[int64]map[int][]float32{}}
	var chief watched
	dir := t.TempDir()
	strategy := elastic(runconfig.Elastic{Min: 2, Batch: runconfig.PerWorkerBatch, ScaleLR: runconfig.ScaleLinear})
	run := func(workers int, last int64) {
		leaving, interrupt := context.WithCancelCause(t.Context())
		defer interrupt(nil)
		res := trainCluster(t, dir, workers, 0, strategy, func(rank int, m *member) {
			m.fn, m.input = estimator.ModelFunc(fallingLine), estimator.InputFunc(numberedRows)
			then := func(_ hooks.Run, made int) error {
				if rank == 2 && made == 8 {
					interrupt(errGone)
				}
				return nil
			}
			m.opts = []estimator.TrainOption{estimator.MaxSteps(last), estimator.WithHooks(j.note(rank, then))}
			switch rank {
			case 0:
				m.opts = append(m.opts, estimator.WithHooks(chief.hook()))
			case 2:
				m.ctx = leaving
				m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
					_, err := e.Train(ctx, m.input, m.opts...)
					if !errors.Is(err, estimator.ErrInterrupted) {
						return estimator.TrainResult{}, fmt.Errorf("expected an interruption, got %w", err)
					}
					return estimator.TrainResult{}, nil
				}
			}
		})
		for i, r := range res {
			if r.err != nil || i < 2 && r.GlobalStep != last {
				t.Fatalf("%s %d: step %d, %v", r.task, i, r.GlobalStep, r.err)
			}
		}
	}
	run(3, 20)
	run(2, 30)
	var rows [][]float32
	var factors []float64
	for step := int64(1); step <= 30; step++ {
		rows, factors = append(rows, j.of(step)), append(factors, float64(len(j.rows[step]))/3)
	}
	if factors[0] != 1 || factors[19] != 2.0/3 || factors[29] != 2.0/3 {
		t.Fatalf("learning rate factors by step: %v", factors)
	}
	for i, want := range fallingLosses(rows, factors) {
		if got := chief.losses[int64(i+1)]; math.Abs(got-want) > 1e-5*want {
			t.Errorf("step %d: loss %v, by hand %v", i+1, got, want)
		}
	}
}

// TestElasticScaleLRNeedsARate: a step function has no learning rate.
func TestElasticScaleLRNeedsARate(t *testing.T) {
	strategy := elastic(runconfig.Elastic{Min: 1, Batch: runconfig.PerWorkerBatch, ScaleLR: runconfig.ScaleLinear})
	for _, r := range trainCluster(t, t.TempDir(), 2, 0, strategy, func(_ int, m *member) { m.fn = meanModel("") }) {
		if estimator.ExitCode(r.err) != 2 {
			t.Errorf("%s ended with %v", r.task, r.err)
		}
	}
}
