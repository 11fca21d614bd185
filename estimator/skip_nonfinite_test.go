package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// fragileModel has moving averages, a loss that overflows for large features, and a square root, whose gradient is not finite
// where z is 0.
func fragileModel(o *optimizers.Optimizer) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		y := layers.Dense(mc, layers.BatchNorm(mc, features.Dense("x"), layers.Norm{Momentum: 0.5}), 1, layers.Weights{})
		k := mc.Core().Variable("k", nil, models.WithInit(initializers.Ones()))
		root := ops.Sqrt(mc, ops.Mul(mc, features.Dense("z"), ops.Square(mc, k)))
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		loss := losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
		spec.Loss = ops.Add(mc, loss, ops.Mean(mc, root))
		if mc.Mode() == models.Train {
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// fragileData has batches by a pattern: "." finite, "n" a NaN, "i" an infinity, "g" a finite loss with non-finite gradients.
func fragileData(pattern string) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		const batch = 8
		var x, y, z []float32
		for i, kind := range pattern {
			for r := range batch {
				row := []float32{float32((i*7+r*3)%11) / 11, float32((i+r)%5) / 5}
				last := 1 + float32(r)/batch
				if r == 5 { // only in one replica
					switch kind {
					case 'n':
						row[0] = float32(math.NaN())
					case 'i':
						row[1] = float32(math.Inf(1))
					case 'g':
						last = 0
					}
				}
				x, y, z = append(x, row...), append(y, row[0]-row[1]), append(z, last)
			}
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 2), inputs.Slice("z", inputs.Feature, z, 1), inputs.Slice("y", inputs.Label, y, 1))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(batch/max(ic.ReplicasInSync, 1), false)), nil
	})
}

// fragileTraining trains on a pattern with a checkpoint at each step.
func fragileTraining(t *testing.T, dir, pattern string, steps int, o *optimizers.Optimizer, s runconfig.Strategy, opts ...estimator.Option) (estimator.TrainResult, error) {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.SaveCheckpointsSteps(1),
		runconfig.KeepCheckpointMax(0), runconfig.TrainDistribute(s))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fragileModel(o), append([]estimator.Option{estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.Train(t.Context(), fragileData(pattern), estimator.MaxSteps(int64(steps)))
}

// checkHeld fails unless the step after a checkpoint changed only counts or, if it should have changed all, did so.
func checkHeld(t *testing.T, dir string, step int, held bool) {
	t.Helper()
	before, after := openCheckpoint(t, dir, fmt.Sprintf("model.ckpt-%d", step)), openCheckpoint(t, dir, fmt.Sprintf("model.ckpt-%d", step+1))
	for _, info := range before.List() {
		if name := info.Name; name == "global_step" || strings.HasPrefix(name, "goestimator/") && name != update.FiniteLoss {
			continue
		}
		a, err := before.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := after.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(a.Bytes, b.Bytes); same != held {
			t.Errorf("step %d: %s is the same: %v, expected %v", step+1, info.Name, same, held)
		}
	}
}

// TestSkipNonFinite: if loss or gradients are not finite in one replica, the step changes no variable, slot or average in any.
func TestSkipNonFinite(t *testing.T) {
	const pattern = "..n.ig.nn."
	gpu := gpustest.Emulated(t, 2)
	adam := func() *optimizers.Optimizer {
		return optimizers.Adam(0.01, optimizers.WithEMA(0.8), optimizers.WithSkipNonFinite(2))
	}
	for name, c := range map[string]struct {
		s runconfig.Strategy
		o *optimizers.Optimizer
	}{
		"default":  {runconfig.Strategy{Name: "default", Device: "/cpu:0"}, adam()},
		"mirrored": {runconfig.Strategy{Name: "mirrored", Device: "/cpu:0", Replicas: 2}, adam()},
		"gpu":      {runconfig.Strategy{Name: "default"}, adam()},
		"gpus":     {runconfig.Strategy{Name: "mirrored", Replicas: 2}, adam()},
		"scaled": {runconfig.Strategy{Name: "default", Device: "/cpu:0"}, optimizers.Adam(0.01, optimizers.WithEMA(0.8), optimizers.WithSkipNonFinite(2),
			optimizers.WithLossScale(optimizers.LossScale{Initial: 8, GrowthSteps: 100}), optimizers.WithClipGlobalNorm(1))},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			res, err := fragileTraining(t, dir, pattern, len(pattern), c.o, c.s, estimator.WithGPUs(gpu))
			if err != nil || res.GlobalStep != int64(len(pattern)) || math.IsNaN(res.Loss) {
				t.Fatalf("%+v %v", res, err)
			}
			if name != "scaled" { // whose scale changes
				for i, kind := range pattern {
					checkHeld(t, dir, i, kind != '.')
				}
			}
			last := openCheckpoint(t, dir, fmt.Sprintf("model.ckpt-%d", len(pattern)))
			for name, want := range map[string]int64{update.Skipped: 5, update.SkippedInARow: 0} {
				if v, err := last.Tensor(name); err != nil || v.Int(0) != want {
					t.Errorf("%s is %v (%v), expected %d", name, v, err, want)
				}
			}
			scalars, err := summary.ReadScalars(dir)
			if err != nil {
				t.Fatal(err)
			}
			if steps, counts := scalars.Series("skipped_updates"); fmt.Sprint(steps, counts) != "[3 5 6 8 9] [1 2 3 4 5]" {
				t.Errorf("scalars at %v: %v", steps, counts)
			}
		})
	}
}

// TestSkipNonFiniteEnds: training ends with a NaN loss after more skipped steps in a row than the limit, also across a restart,
// and without a limit at the first one.
func TestSkipNonFiniteEnds(t *testing.T) {
	local := runconfig.Strategy{Name: "default", Device: "/cpu:0"}
	dir := t.TempDir()
	for _, c := range []struct {
		dir, pattern string
		steps        int
		limit        int64
		step, count  int64 // 0: no error
	}{{t.TempDir(), "..nnn.", 6, 2, 5, 3}, {t.TempDir(), "..gggg", 6, 2, 5, 3}, {t.TempDir(), ".n", 2, 0, 2, 0}, {dir, "..nnn", 4, 2, 0, 0}, {dir, "..nnn", 5, 2, 5, 3}} {
		_, err := fragileTraining(t, c.dir, c.pattern, c.steps, optimizers.Adam(0.01, optimizers.WithSkipNonFinite(c.limit)), local)
		var nan *hooks.NaNLossError
		switch {
		case c.step == 0:
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		case !errors.As(err, &nan) || nan.Step != c.step || nan.Skipped != c.count:
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// TestSkipNonFiniteAnew: a training may begin with skipping and continue without it, or the other way round.
func TestSkipNonFiniteAnew(t *testing.T) {
	dir, local := t.TempDir(), runconfig.Strategy{Name: "default", Device: "/cpu:0"}
	for i, limit := range []int64{0, 1, 0} {
		steps := []int{2, 4, 6}[i]
		if res, err := fragileTraining(t, dir, "..n...", steps, optimizers.Adam(0.01, optimizers.WithSkipNonFinite(limit)), local); err != nil || res.GlobalStep != int64(steps) {
			t.Errorf("%d: %+v, %v", limit, res, err)
		}
	}
}

// TestSkipNonFiniteOfClusters: workers in lock step skip the same updates; parameter servers refuse to skip any.
func TestSkipNonFiniteOfClusters(t *testing.T) {
	for _, c := range []struct {
		strategy runconfig.Strategy
		servers  int
		refused  bool
	}{{runconfig.Strategy{Name: "multi_worker_mirrored"}, 0, false}, {runconfig.Strategy{Name: "parameter_server"}, 1, true}} {
		dir := t.TempDir()
		for _, end := range trainCluster(t, dir, 2, c.servers, c.strategy, func(rank int, m *member) {
			m.fn = fragileModel(optimizers.Adam(0.01, optimizers.WithSkipNonFinite(2)))
			m.input = fragileData([]string{"..ng....", "........"}[rank])
			m.opts = []estimator.TrainOption{estimator.MaxSteps(8)}
		})[:2] {
			if refused := end.err != nil && strings.Contains(end.err.Error(), "optimizer.skip_nonfinite needs one decision"); refused != c.refused || !refused && end.err != nil {
				t.Fatalf("%s: %v", end.task, end.err)
			}
		}
		if c.refused {
			continue
		}
		v, err := openCheckpoint(t, dir, "model.ckpt-8").Tensor(update.Skipped)
		if err != nil || v.Int(0) != 2 {
			t.Errorf("%v updates were left out (%v), expected 2", v, err)
		}
	}
}
