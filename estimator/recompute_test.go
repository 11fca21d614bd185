package estimator_test

import (
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	G "gorgonia.org/gorgonia"
)

// blocksModel has two blocks with dropout and batch normalization; the first looks up rows of a table.
func blocksModel(o optimizers.Optimizer, again bool) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		block := func(name string, f func(x *G.Node) *G.Node, x *G.Node) (y *G.Node) {
			mc.Core().Scope(name, func() {
				if again {
					y = layers.Recompute(mc, x, f)
				} else {
					y = f(x)
				}
			})
			return y
		}
		dense := func(x *G.Node) *G.Node {
			x = layers.BatchNorm(mc, layers.Dense(mc, x, 24, layers.Weights{}), layers.Norm{})
			return layers.Dropout(mc, layers.Dense(mc, ops.Gelu(mc, x), 24, layers.Weights{Activation: ops.Tanh}), 0.2)
		}
		x := block("first", func(x *G.Node) *G.Node {
			e := layers.Embedding(mc, features.Dense("id"), equalRows, equalWidth, layers.Weights{})
			return dense(ops.Concat(mc, 1, x, layers.Flatten(mc, ops.Tanh(mc, e))))
		}, features.Dense("x"))
		x = block("second", dense, x)
		logits := layers.Dense(mc, x, 3, layers.Weights{})
		spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
		if mc.Mode() == models.Train {
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// TestRecomputedTraining: recomputed blocks give the same losses as kept blocks, bit for bit, under each strategy, with gradient
// accumulation and with a scaled loss.
func TestRecomputedTraining(t *testing.T) {
	testkit.NotConcurrent(t)
	const steps = 24
	adam := *optimizers.Adam(0.01)
	window, scaled := adam, adam
	window.AccumulateSteps = 3
	scaled.LossScale = optimizers.LossScale{Initial: 1 << 10, GrowthSteps: 5}
	run := func(t *testing.T, o optimizers.Optimizer, s equalStrategy, again bool) map[int64][]float64 {
		record := &lossRecorder{mu: new(sync.Mutex), losses: map[int64][]float64{}}
		equalJob{fn: blocksModel(o, again), data: equalData, strategy: s.strategy, workers: s.workers, servers: s.servers}.train(t, steps, record)
		return record.losses
	}
	one := equalStrategy{"default", runconfig.Strategy{Name: "default"}, 1, 0}
	for _, k := range []struct {
		name string
		o    optimizers.Optimizer
		on   []equalStrategy
	}{{"adam", adam, append([]equalStrategy{one}, equalStrategies[:3]...)}, {"adam", adam, equalStrategies[4:5]}, {"window", window, []equalStrategy{one, equalStrategies[0]}}, {"scaled", scaled, []equalStrategy{one, equalStrategies[0]}}} {
		for _, s := range k.on {
			t.Run(k.name+"/"+s.name, func(t *testing.T) {
				want, got := run(t, k.o, s, false), run(t, k.o, s, true)
				for step := int64(1); step <= steps; step++ {
					w, g := 0.0, 0.0 // the losses of two workers, in any order
					for i := range want[step] {
						w, g = w+want[step][i], g+got[step][i]
					}
					if len(want[step]) != s.workers || len(got[step]) != s.workers || w != g {
						t.Fatalf("step %d: losses %v, and %v where blocks are kept", step, got[step], want[step])
					}
				}
			})
		}
	}
}
