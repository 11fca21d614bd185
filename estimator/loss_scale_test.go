package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// overflowing is a loss scale whose gradients overflow in the first steps and, as it grows, now and then.
var overflowing = optimizers.LossScale{Initial: 0x1p127, GrowthSteps: 5}

// scaledModel is a network with an embedding and a loss 1024 times as large as usual.
func scaledModel(scale optimizers.LossScale, adjust func(o *optimizers.Optimizer)) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		e := layers.Embedding(mc, features.Dense("id"), equalRows, equalWidth, layers.Weights{})
		x := ops.Concat(mc, 1, features.Dense("x"), layers.Flatten(mc, e))
		logits := layers.Dense(mc, layers.Dense(mc, x, 16, layers.Weights{Activation: ops.Relu}), 3, layers.Weights{})
		loss := losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})
		spec := &estimator.Spec{Loss: ops.Mul(mc, loss, ops.Scalar(mc, tensor.Float32, 1024))}
		if mc.Mode() == models.Train {
			o := optimizers.Optimizer{Rule: rule.Momentum{Momentum: 0.9}, LearningRate: optimizers.Constant(0x1p-14), LossScale: scale}
			if adjust != nil {
				adjust(&o)
			}
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// scaledEstimator trains scaledModel in one process.
func scaledEstimator(t *testing.T, fn estimator.ModelFn, dir string, s runconfig.Strategy, precision string, more ...estimator.Option) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.TrainDistribute(s),
		runconfig.Session(runconfig.SessionConfig{HardPlacement: true, Precision: precision}))
	if err != nil {
		t.Fatal(err)
	}
	return custom(t, fn, dir, append([]estimator.Option{estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler))}, more...)...)
}

// scaleWatch records the scale at the beginning of each step.
type scaleWatch struct {
	hooks.Base
	scales []float64
	losses []float64
}

const scaleTensor = "current_loss_scale/Read/ReadVariableOp"

func (w *scaleWatch) Begin(s hooks.Setup) error {
	return errors.Join(s.Fetch(scaleTensor), s.Fetch("loss"))
}

func (w *scaleWatch) AfterRun(_ context.Context, r hooks.Run) error {
	scale, err := r.Value(scaleTensor)
	if err != nil {
		return err
	}
	loss, err := r.Value("loss")
	w.scales, w.losses = append(w.scales, scale.Float(0)), append(w.losses, loss.Float(0))
	return err
}

// checkOverflowed fails unless some updates were skipped, the scale grew again, and training converged.
func checkOverflowed(t *testing.T, w *scaleWatch) {
	t.Helper()
	fell, grew := 0, 0
	for i, s := range w.scales[1:] {
		switch {
		case s < w.scales[i]:
			fell++
		case s > w.scales[i]:
			grew++
		}
	}
	first, last := w.losses[0], w.losses[len(w.losses)-1]
	if fell < 3 || grew < 2 || !(last < 0.8*first) {
		t.Errorf("the scale fell %d times and grew %d times, the loss went from %g to %g", fell, grew, first, last)
	}
}

// TestLossScaleStrategies: with a scale that does not overflow, training is bit-identical to training without a
// scale. With one that overflows, all replicas skip the same updates, and training continues.
func TestLossScaleStrategies(t *testing.T) {
	testkit.NotConcurrent(t)
	gpu := gpustest.Emulated(t, 2)
	for _, c := range []struct {
		s         runconfig.Strategy
		precision string
	}{{s: runconfig.Strategy{Name: "default"}}, {runconfig.Strategy{Name: "default"}, "bf16_mixed"}, {s: runconfig.Strategy{Name: "default", Device: "/cpu:0"}},
		{s: runconfig.Strategy{Name: "mirrored", Replicas: 2}}, {s: runconfig.Strategy{Name: "mirrored", Device: "/cpu:0", Replicas: 2}}} {
		t.Run(fmt.Sprintf("%s%s%d%s", c.s.Name, c.s.Device, c.s.Replicas, c.precision), func(t *testing.T) {
			var dirs []string
			train := func(scale optimizers.LossScale, steps int64, hs ...hooks.Hook) *estimator.Estimator {
				dirs = append(dirs, t.TempDir())
				e := scaledEstimator(t, scaledModel(scale, nil), dirs[len(dirs)-1], c.s, c.precision, estimator.WithGPUs(gpu))
				if _, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(steps), estimator.WithHooks(hs...)); err != nil {
					t.Fatal(err)
				}
				return e
			}
			plain := train(optimizers.LossScale{}, 12)
			for _, scale := range []optimizers.LossScale{{Initial: 256}, {Initial: 256, GrowthSteps: 4}} {
				got := train(scale, 12)
				names, err := plain.VariableNames()
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					if want, have := value(t, plain, name), value(t, got, name); string(want.Bytes) != string(have.Bytes) {
						t.Errorf("scale %+v: variable %s differs", scale, name)
					}
				}
			}
			w := &scaleWatch{}
			e := train(overflowing, 60, w)
			checkOverflowed(t, w)
			if step := value(t, e, "global_step").Float(0); step != 60 {
				t.Errorf("global step %g, expected 60: it counts what was left out", step)
			}
		})
	}
}

// TestLossScaleResumes: scale and count continue where training was interrupted.
func TestLossScaleResumes(t *testing.T) {
	for _, accumulate := range []int{1, 3} {
		fn := scaledModel(overflowing, func(o *optimizers.Optimizer) {
			o.AccumulateSteps = accumulate
			o.Transforms = []optimizers.Transform{{Kind: optimizers.ClipGlobalNorm, Limit: 2000}}
		})
		whole, pieces := t.TempDir(), t.TempDir()
		for dir, ends := range map[string][]int64{whole: {60}, pieces: {3, 4, 21, 60}} {
			for _, end := range ends {
				if _, err := scaledEstimator(t, fn, dir, runconfig.Strategy{Name: "default"}, "").Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(end)); err != nil {
					t.Fatal(err)
				}
			}
		}
		compareCheckpoints(t, whole, pieces, "model.ckpt-60")
	}
}

// TestLossScaleAndCheckNumerics: an overflow that the loss scale handles is not reported. A NaN without a scale,
// or of the model itself, is.
func TestLossScaleAndCheckNumerics(t *testing.T) {
	testkit.NotConcurrent(t)
	gpu := gpustest.Emulated(t, 1)
	for _, device := range []string{"/cpu:0", "/gpu:0"} {
		for _, accumulate := range []int{1, 2} {
			train := func(scale optimizers.LossScale, in estimator.InputFn) error {
				dir := t.TempDir()
				rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.LogStepCountSteps(0), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "default", Device: device}),
					runconfig.Session(runconfig.SessionConfig{CheckNumerics: true}))
				if err != nil {
					t.Fatal(err)
				}
				e := custom(t, scaledModel(scale, func(o *optimizers.Optimizer) { o.AccumulateSteps = accumulate }), dir, estimator.WithRunConfig(rc), estimator.WithGPUs(gpu))
				_, err = e.Train(t.Context(), in, estimator.MaxSteps(12))
				return err
			}
			if err := train(overflowing, estimator.InputFunc(equalData)); err != nil {
				t.Errorf("%s, overflow: %v", device, err)
			}
			var bad *engine.NumericsError
			if err := train(optimizers.LossScale{Initial: 0x1p127}, estimator.InputFunc(equalData)); !errors.As(err, &bad) {
				t.Errorf("%s, a fixed scale that overflows: got %v", device, err)
			}
			if err := train(overflowing, nanBatch(3)); !errors.As(err, &bad) || !strings.HasPrefix(bad.Node, "features/") {
				t.Errorf("%s, a NaN in the data: got %v", device, err)
			}
		}
	}
}

// nanBatch is equalData with a NaN in one batch.
func nanBatch(batch int) estimator.InputFn {
	return estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		const n = 20 * equalBatch
		x, id, y := make([]float32, 6*n), make([]int64, 2*n), make([]int32, n)
		for i := range x {
			x[i] = float32(i*7%13) / 13
		}
		for i := range y {
			y[i] = int32(i % 3)
			x[6*i] += float32(y[i])
		}
		x[6*equalBatch*batch] = float32(math.NaN())
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 6), inputs.Slice("id", inputs.Feature, id, 2), inputs.Slice("y", inputs.Label, y))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(equalBatch, false)), nil
	})
}

// TestNaNBatchIsLeftOut: a batch with a NaN loss ends training as usual, unless the guard watches another
// tensor; then its update is skipped.
func TestNaNBatchIsLeftOut(t *testing.T) {
	fn := scaledModel(optimizers.DynamicLossScale(), nil)
	_, err := scaledEstimator(t, fn, t.TempDir(), runconfig.Strategy{Name: "default"}, "").Train(t.Context(), nanBatch(3), estimator.MaxSteps(20))
	var nan *hooks.NaNLossError
	if !errors.As(err, &nan) || nan.Step != 4 {
		t.Errorf("got %v, expected the error of the guard", err)
	}
	w := &scaleWatch{}
	e := scaledEstimator(t, fn, t.TempDir(), runconfig.Strategy{Name: "default"}, "")
	if _, err := e.Train(t.Context(), nanBatch(3), estimator.MaxSteps(20), estimator.WithHooks(w, hooks.NewNaN(scaleTensor))); err != nil {
		t.Fatal(err)
	}
	for i, loss := range w.losses {
		if math.IsNaN(loss) != (i == 3) {
			t.Errorf("the loss of step %d is %g", i+1, loss)
		}
	}
	if scale, good := value(t, e, "current_loss_scale").Float(0), value(t, e, "good_steps").Float(0); scale != 1<<14 || good != 16 {
		t.Errorf("scale %g after %g good steps, expected 2^14 after 16", scale, good)
	}
}

// TestLossScaleOfClusters: workers in lock step skip the same updates, asynchronous workers each their own.
// Parameter servers that sum gradients accept a fixed scale, and refuse one that changes.
func TestLossScaleOfClusters(t *testing.T) {
	for _, c := range []struct {
		strategy runconfig.Strategy
		servers  int
		scale    optimizers.LossScale
		refused  bool
	}{
		{runconfig.Strategy{Name: "multi_worker_mirrored"}, 0, overflowing, false},
		{runconfig.Strategy{Name: "parameter_server"}, 1, overflowing, false},
		{runconfig.Strategy{Name: "parameter_server", Sync: true}, 1, optimizers.LossScale{Initial: 8}, false},
		{runconfig.Strategy{Name: "parameter_server", Sync: true}, 1, overflowing, true},
	} {
		t.Run(fmt.Sprintf("%s sync=%v %+v", c.strategy.Name, c.strategy.Sync, c.scale), func(t *testing.T) {
			dir := t.TempDir()
			for _, end := range trainCluster(t, dir, 2, c.servers, c.strategy, func(_ int, m *member) {
				m.fn = scaledModel(c.scale, nil)
				m.opts = []estimator.TrainOption{estimator.MaxSteps(40)}
			})[:2] {
				if refused := end.err != nil && strings.Contains(end.err.Error(), "a loss scale that changes needs one decision"); refused != c.refused || !refused && end.err != nil {
					t.Fatalf("%s: %v", end.task, end.err)
				}
			}
			if c.refused {
				return
			}
			e := custom(t, scaledModel(c.scale, nil), dir)
			if c.scale.Dynamic() {
				if scale := value(t, e, "current_loss_scale").Float(0); scale < 1 || scale >= 0x1p127 {
					t.Errorf("the scale is %g", scale)
				}
			}
			m, err := e.Evaluate(t.Context(), estimator.InputFunc(equalData), estimator.Steps(5))
			if err != nil {
				t.Fatal(err)
			}
			if loss, _ := m.Scalar("loss"); !(loss < 1000) {
				t.Errorf("the loss is %g", loss)
			}
		})
	}
}

// TestLossScaleHistograms: histograms show the gradients that are applied, and an overflow does not end
// training.
func TestLossScaleHistograms(t *testing.T) {
	dir := t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.SaveSummarySteps(1), runconfig.SaveCheckpointsSteps(100))
	if err != nil {
		t.Fatal(err)
	}
	e := custom(t, scaledModel(overflowing, nil), dir, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)),
		estimator.WithAutoSummaries(estimator.AutoSummaries{Histograms: true}))
	if _, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(20)); err != nil {
		t.Fatal(err)
	}
	var empty, some int
	for ev, err := range summary.Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range ev.GetSummary().GetValue() {
			if h := v.GetHisto(); h != nil && v.GetTag() == "dense/kernel/gradient" {
				if size := max(h.GetMax(), -h.GetMin()); size == 0 {
					empty++
				} else if size < 1e6 {
					some++
				} else {
					t.Errorf("a gradient of %g: it is scaled", size)
				}
			}
		}
	}
	if empty == 0 || some == 0 {
		t.Errorf("%d histograms of updates that were left out, %d of others", empty, some)
	}
}
