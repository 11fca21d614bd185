package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(kernels.WorkerFunction))
}

// model returns a model_fn that adjusts the toy model's Spec.
func model(change func(mc *estimator.ModelContext, s *estimator.Spec)) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		s, err := toyModel(mc, f, l)
		if err == nil {
			change(mc, s)
		}
		return s, err
	})
}

// TestTrainErrors checks that what tf.estimator refuses is refused, with the same error texts.
func TestTrainErrors(t *testing.T) {
	cases := []struct {
		name string
		fn   estimator.ModelFn
		opts []estimator.TrainOption
		want string
	}{
		{"no loss", model(func(_ *estimator.ModelContext, s *estimator.Spec) { s.Loss = nil }), nil, "missing loss"},
		{"no train_op", model(func(_ *estimator.ModelContext, s *estimator.Spec) { s.TrainOp = nil }), nil, "missing train_op"},
		{"no Spec", estimator.ModelFunc(func(*estimator.ModelContext, models.Features, models.Labels) (*estimator.Spec, error) {
			return nil, nil
		}), nil, "returned no Spec"},
		{"other mode", model(func(_ *estimator.ModelContext, s *estimator.Spec) { s.Mode = models.Eval }), nil, `mode "eval": expected "train"`},
		{"loss of two elements", estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			s, err := toyModel(mc, f, l)
			s.Loss = losses.MeanSquaredError(mc, l.Only(), s.Predictions["y"], losses.Options{Reduction: losses.None})
			return s, err
		}), nil, "loss must be scalar"},
		{"an error of its own", estimator.ModelFunc(func(*estimator.ModelContext, models.Features, models.Labels) (*estimator.Spec, error) {
			return nil, errors.New("no such luck")
		}), nil, "no such luck"},
		{"a panic", estimator.ModelFunc(func(*estimator.ModelContext, models.Features, models.Labels) (*estimator.Spec, error) { panic("oh") }), nil, "panicked: oh"},
		{"an unknown feature", estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			f.Dense("z")
			return toyModel(mc, f, l)
		}), nil, `no dense feature "z": the input has x`},
		{"steps and max_steps", nil, []estimator.TrainOption{estimator.Steps(1), estimator.MaxSteps(1)}, "can not provide both steps and max_steps"},
		{"no steps", nil, []estimator.TrainOption{estimator.Steps(0)}, "must specify steps > 0, given: 0"},
		{"negative max_steps", nil, []estimator.TrainOption{estimator.MaxSteps(-1)}, "must specify max_steps > 0, given: -1"},
		{"a nil hook", nil, []estimator.TrainOption{estimator.WithHooks(nil)}, "hook is nil"},
		{"an unknown tensor", nil, []estimator.TrainOption{estimator.WithHooks(hooks.NewFinalOps("dense/Nothing"))}, `no tensor "dense/Nothing" in the graph of mode train: expected one of loss, y, or a node of the graph`},
		{"a misspelt tensor", nil, []estimator.TrainOption{estimator.WithHooks(hooks.NewFinalOps("dense/MatMull"))}, `did you mean "dense/MatMul"?`},
	}
	for _, c := range cases {
		if c.fn == nil {
			c.fn = estimator.ModelFunc(toyModel)
		}
		_, err := custom(t, c.fn, t.TempDir()).Train(context.Background(), &toyData{}, c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected an error with %q", c.name, err, c.want)
		}
	}
}

func TestInputThatPanics(t *testing.T) {
	input := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) { panic("oh") })
	_, err := toy(t, t.TempDir()).Train(context.Background(), input)
	if err == nil || !strings.Contains(err.Error(), "input_fn, mode train: panicked: oh") {
		t.Errorf("got %v, expected an error that tells of the panic", err)
	}
}

func TestReservedMetricNames(t *testing.T) {
	for _, name := range []string{"loss", "global_step"} {
		fn := model(func(_ *estimator.ModelContext, s *estimator.Spec) {
			s.EvalMetrics = estimator.Metrics{name: s.EvalMetrics["rmse"]}
		})
		_, err := custom(t, fn, t.TempDir()).Evaluate(context.Background(), &toyData{})
		if err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("metric %s: got %v, expected it to be reserved", name, err)
		}
	}
}

func TestStepsAreIncrementsAndMaxStepsIsAbsolute(t *testing.T) {
	ctx, dir, data := context.Background(), t.TempDir(), &toyData{}
	e := toy(t, dir)
	for i, c := range []struct {
		opt    estimator.TrainOption
		step   int64
		reason string
		opened bool
	}{
		{estimator.Steps(5), 5, estimator.StopMaxSteps, true},
		{estimator.Steps(5), 10, estimator.StopMaxSteps, true},
		{estimator.MaxSteps(12), 12, estimator.StopMaxSteps, true},
		{estimator.MaxSteps(12), 12, estimator.StopMaxSteps, false}, // input_fn is not called
		{estimator.MaxSteps(11), 12, estimator.StopMaxSteps, false},
	} {
		data.opened = 0
		res, err := e.Train(ctx, forever(data), c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if res.GlobalStep != c.step || res.StopReason != c.reason || (data.opened > 0) != c.opened {
			t.Errorf("call %d: got %+v, input opened %d times; expected step %d", i, res, data.opened, c.step)
		}
	}
}

func TestEndOfInputEndsTraining(t *testing.T) {
	res, err := toy(t, t.TempDir()).Train(context.Background(), &toyData{}, estimator.MaxSteps(100))
	if err != nil || res.GlobalStep != 3 || res.StopReason != estimator.StopEndOfInput {
		t.Errorf("got %+v, %v: expected the end of the input after 3 batches", res, err)
	}
}

func TestEvaluateWithoutACheckpoint(t *testing.T) {
	res, err := toy(t, t.TempDir()).Evaluate(context.Background(), &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	if loss, ok := res.Scalar("loss"); !ok || loss <= 0 || res.GlobalStep != 0 || res.Checkpoint != "" {
		t.Errorf("got %+v, expected the loss of initial values at step 0", res)
	}
}

func TestTrainedModelPredicts(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(2000)); err != nil {
		t.Fatal(err)
	}
	e := toy(t, dir) // as a new process would
	res, err := e.Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	if rmse, _ := res.Scalar("rmse"); rmse > 0.01 || res.GlobalStep != 2000 {
		t.Errorf("got %+v, expected rmse <= 0.01 at step 2000", res)
	}
	for _, rows := range []int{10, 3} {
		n := 0
		for p, err := range e.Predict(ctx, &toyData{noLabels: true, rows: rows}) {
			if err != nil {
				t.Fatal(err)
			}
			i := float64(n)
			want := 2*math.Mod(i*3, 7)/7 - math.Mod(i*4, 7)/7 + 0.5
			if got := p.Get("y").Float(0); math.Abs(got-want) > 0.05 {
				t.Errorf("row %d: predicted %g, expected %g", n, got, want)
			}
			n++
		}
		if n != rows {
			t.Errorf("%d predictions of %d rows", n, rows)
		}
	}
	names, err := e.VariableNames()
	if err != nil || !slices.Equal(names, []string{"dense/bias", "dense/kernel", "global_step"}) {
		t.Errorf("variables %v (%v)", names, err)
	}
	w, err := e.VariableValue("dense/kernel")
	if err != nil || math.Abs(w.Float(0)-2) > 0.05 || math.Abs(w.Float(1)+1) > 0.05 {
		t.Errorf("kernel %v (%v), expected about 2, -1", w, err)
	}
	if _, err := e.VariableValue("nothing"); err == nil || !strings.Contains(err.Error(), `no variable "nothing"`) {
		t.Errorf("got %v, expected the unknown variable to be named", err)
	}
}

func TestPredictStopsWhenTheCallerDoes(t *testing.T) {
	ctx := context.Background()
	e := toy(t, t.TempDir())
	for range e.Predict(ctx, &toyData{}) {
		break
	}
	for _, err := range e.Predict(ctx, &toyData{}, estimator.PredictKeys("z")) {
		if err == nil || !strings.Contains(err.Error(), "among y, provided z") {
			t.Errorf("got %v, expected the known predictions", err)
		}
	}
	if _, err := e.VariableNames(); !errors.Is(err, estimator.ErrNoCheckpoint) {
		t.Errorf("got %v, expected ErrNoCheckpoint", err)
	}
}

func TestOtherFeaturesAreNamed(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	e := toy(t, dir)
	if _, err := e.Train(ctx, forever(&toyData{}), estimator.MaxSteps(3)); err != nil {
		t.Fatal(err)
	}
	const want = "expected x float32[2], got x float32[3]"
	if _, err := e.Evaluate(ctx, &toyData{width: 3}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("evaluate: got %v, expected %q", err, want)
	}
	if _, err := e.Train(ctx, forever(&toyData{width: 3}), estimator.MaxSteps(6)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("train: got %v, expected %q", err, want)
	}
}

func TestModelDirOfAnotherModel(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(3)); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	other := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (s *estimator.Spec, err error) {
		mc.Scope("other", func() { s, err = toyModel(mc, f, l) })
		return s, err
	})
	_, err := custom(t, other, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(6))
	var mismatch *estimator.MismatchError
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "no variable other/dense/kernel") {
		t.Errorf("got %v, expected a MismatchError that names the variables", err)
	}
	for name := range before {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("lost %s", name)
		}
	}
}

func listing(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "model.ckpt") {
			names[e.Name()] = true
		}
	}
	return names
}

func TestModelDirs(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(a))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc), estimator.WithModelDir(b)); err == nil || !strings.Contains(err.Error(), "different values") {
		t.Errorf("got %v, expected the two folders to be refused", err)
	}
	if e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc), estimator.WithModelDir(a)); err != nil || e.ModelDir() != a {
		t.Errorf("equal folders: %v", err)
	}
	if _, err := estimator.New(nil); err == nil {
		t.Error("no model_fn: expected an error")
	}
}

func TestNaNLossFails(t *testing.T) {
	var nan *hooks.NaNLossError
	_, err := toy(t, t.TempDir()).Train(context.Background(), forever(&toyData{scale: 1e30}), estimator.MaxSteps(100))
	if !errors.As(err, &nan) {
		t.Errorf("got %v, expected a NaNLossError", err)
	}
}

func TestLabelOutsideTheClasses(t *testing.T) {
	e := newEstimator(t, glyphModel(t, "linear", nil), t.TempDir())
	in := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("image", inputs.Feature, make([]uint8, 3*784), 28, 28, 1), inputs.Slice("label", inputs.Label, []int64{3, 10, 1}))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(3, false)), nil
	})
	_, err := e.Train(context.Background(), in)
	if err == nil || !strings.Contains(err.Error(), "10") {
		t.Errorf("got %v, expected label 10 to be named", err)
	}
}

func TestWarmStart(t *testing.T) {
	ctx, from, to := context.Background(), t.TempDir(), t.TempDir()
	trained := toy(t, from)
	if _, err := trained.Train(ctx, forever(&toyData{}), estimator.MaxSteps(500)); err != nil {
		t.Fatal(err)
	}
	e := toy(t, to, estimator.WithWarmStart(estimator.WarmStart{From: from, Vars: "dense/kernel"}))
	if _, err := e.Train(ctx, forever(&toyData{}), estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	old, err := trained.VariableValue("dense/kernel")
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.VariableValue("dense/kernel")
	if err != nil || math.Abs(first.Float(0)-old.Float(0)) > 0.3 {
		t.Errorf("kernel %v after one step (%v), expected to start from %v", tensor.Values[float32](first), err, tensor.Values[float32](old))
	}
	if _, err := toy(t, t.TempDir(), estimator.WithWarmStart(estimator.WarmStart{From: from, Vars: "cnn"})).Train(ctx, forever(&toyData{}), estimator.Steps(1)); err == nil ||
		!strings.Contains(err.Error(), `no trainable variable matches "cnn"`) {
		t.Errorf("got %v, expected a pattern without a match to be refused", err)
	}
	renamed := toy(t, t.TempDir(), estimator.WithWarmStart(estimator.WarmStart{From: from, Vars: "dense/kernel", Previous: map[string]string{"dense/kernel": "old/kernel"}}))
	if _, err := renamed.Train(ctx, forever(&toyData{}), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "no tensor old/kernel") {
		t.Errorf("got %v, expected the missing old name", err)
	}
	misnamed := toy(t, t.TempDir(), estimator.WithWarmStart(estimator.WarmStart{From: from, Previous: map[string]string{"dense/kernal": "dense/kernel"}}))
	if _, err := misnamed.Train(ctx, forever(&toyData{}), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "named in Previous") {
		t.Errorf("got %v, expected a name in Previous that is no variable to be refused", err)
	}
}

func TestAddMetrics(t *testing.T) {
	e := estimator.AddMetrics(toy(t, t.TempDir()), func(_ *estimator.ModelContext, _ models.Features, l models.Labels, p estimator.Nodes) (estimator.Metrics, error) {
		return estimator.Metrics{"mae": estimator.NewMetric("mae", l.Only(), p["y"])}, nil
	})
	defer e.Close()
	res, err := e.Evaluate(context.Background(), &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"loss", "rmse", "mae"} {
		if _, ok := res.Scalar(name); !ok {
			t.Errorf("no metric %s in %v", name, res.Metrics)
		}
	}
}

// TestEvalEvents checks what an evaluation leaves in its folder.
func TestEvalEvents(t *testing.T) {
	ctx := context.Background()
	e := toy(t, t.TempDir())
	if _, err := e.Train(ctx, forever(&toyData{}), estimator.Steps(4)); err != nil {
		t.Fatal(err)
	}
	res, err := e.Evaluate(ctx, &toyData{}, estimator.EvalName("held_out"))
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := summary.ReadScalars(e.EvalDir("held_out"))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := res.Scalar("rmse")
	if got := scalars[4]["rmse"]; math.Abs(got-want) > 1e-6 {
		t.Errorf("events say rmse %g at step 4, the evaluation %g", got, want)
	}
	if scalars, err = summary.ReadScalars(e.ModelDir()); err != nil || scalars[1]["loss"] == 0 {
		t.Errorf("training's events: %v (%v), expected a loss at step 1", scalars, err)
	}
}

// TestLossIsTheMeanOfTheBatches: as in tf.estimator, for batches of any size.
func TestLossIsTheMeanOfTheBatches(t *testing.T) {
	ctx := context.Background()
	e := toy(t, t.TempDir())
	total := 0.0
	batches := &lossSum{}
	res, err := e.Evaluate(ctx, &toyData{}, estimator.WithHooks(batches))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range batches.losses {
		total += l
	}
	if got, _ := res.Scalar("loss"); len(batches.losses) != 3 || math.Abs(got-total/3) > 1e-6 {
		t.Errorf("loss %g of batches %v, expected their mean", got, batches.losses)
	}
}

type lossSum struct {
	hooks.Base
	losses []float64
}

func (h *lossSum) Begin(s hooks.Setup) error { return s.Fetch("loss") }
func (h *lossSum) AfterRun(_ context.Context, r hooks.Run) error {
	v, err := r.Value("loss")
	if err == nil {
		h.losses = append(h.losses, v.Float(0))
	}
	return err
}

func TestInMemoryEvaluator(t *testing.T) {
	e := toy(t, t.TempDir())
	h, err := estimator.NewInMemoryEvaluator(e, &toyData{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(context.Background(), forever(&toyData{}), estimator.Steps(10), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	scalars, err := summary.ReadScalars(e.EvalDir(""))
	if err != nil || !slices.Equal(scalars.Steps(), []int64{0, 4, 8, 10}) {
		t.Errorf("evaluated at steps %v (%v), expected 0, 4, 8, 10", scalars.Steps(), err)
	}
	if scalars[10]["loss"] >= scalars[0]["loss"] || h.Result().GlobalStep != 10 {
		t.Errorf("losses %v: expected them to fall", scalars)
	}
	if _, err := estimator.NewInMemoryEvaluator(e, &toyData{}, 0); err == nil {
		t.Error("every 0 steps: expected an error")
	}
}

func TestTrainAndEvaluate(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.SaveCheckpointsSteps(5), runconfig.TFRandomSeed(1))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var at []string
	eval := estimator.EvalSpec{Input: &toyData{}, EverySteps: 3, AfterEval: func(_ context.Context, r estimator.EvalResult, final bool) error {
		at = append(at, fmt.Sprintf("%d %v", r.GlobalStep, final))
		return nil
	}}
	train := estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 12}
	res, err := estimator.TrainAndEvaluate(ctx, e, train, eval)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"3 false", "5 false", "6 false", "9 false", "10 false", "12 false", "12 true"}; !slices.Equal(at, want) {
		t.Errorf("evaluated %v, expected %v", at, want)
	}
	if res.GlobalStep != 12 || res.Eval == nil || res.Eval.GlobalStep != 12 {
		t.Errorf("got %+v, expected step 12 with its evaluation", res)
	}
	scalars, err := summary.ReadScalars(e.EvalDir(""))
	if err != nil || !slices.Equal(scalars.Steps(), []int64{3, 5, 6, 9, 10, 12}) {
		t.Errorf("evaluations at %v (%v), expected also every 3 steps", scalars.Steps(), err)
	}
	at = nil
	if res, err = estimator.TrainAndEvaluate(ctx, e, train, eval); err != nil || res.GlobalStep != 12 || res.StopReason != estimator.StopMaxSteps || res.Eval == nil {
		t.Errorf("once more: got %+v, %v", res, err)
	}
	for name, bad := range map[string]error{
		"another model":     second(estimator.TrainAndEvaluate(ctx, e, train, estimator.EvalSpec{Input: &toyData{width: 3}})),
		"no training input": second(estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{}, eval)),
		"negative throttle": second(estimator.TrainAndEvaluate(ctx, e, train, estimator.EvalSpec{Input: &toyData{}, Throttle: -1})),
		"negative steps":    second(estimator.TrainAndEvaluate(ctx, e, train, estimator.EvalSpec{Input: &toyData{}, Steps: -1})),
	} {
		if bad == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestScaffoldInitFn(t *testing.T) {
	fn := model(func(mc *estimator.ModelContext, s *estimator.Spec) {
		s.Scaffold = &estimator.Scaffold{InitFn: func(v estimator.VariableSetter) error {
			return v.Set("dense/bias", &tensor.Tensor{DType: tensor.Float32, Shape: []int{1}, Bytes: []byte{0, 0, 128, 63}}) // 1.0
		}}
	})
	e := custom(t, fn, t.TempDir())
	h := hooks.NewFinalOps("dense/bias/Read/ReadVariableOp")
	if _, err := e.Train(context.Background(), &toyData{}, estimator.Steps(1), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	if v := h.Values()["dense/bias/Read/ReadVariableOp"]; v == nil || v.Float(0) != 1 {
		t.Errorf("the bias began at %v, expected 1", v)
	}
}

func TestEveryBufferIsReleased(t *testing.T) {
	ctx := context.Background()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e := toy(t, t.TempDir())
	if _, err := e.Train(ctx, forever(&toyData{mem: mem}), estimator.Steps(5)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Evaluate(ctx, &toyData{mem: mem}); err != nil {
		t.Fatal(err)
	}
	for range e.Predict(ctx, &toyData{mem: mem}) {
		break
	}
}

func TestMetricThatFailsIsNamed(t *testing.T) {
	fn := model(func(_ *estimator.ModelContext, s *estimator.Spec) {
		s.EvalMetrics = estimator.Metrics{"odd": {New: func() (metrics.Accumulator, error) { return nil, errors.New("cannot") }}}
	})
	_, err := custom(t, fn, t.TempDir()).Evaluate(context.Background(), &toyData{})
	if err == nil || !strings.Contains(err.Error(), "metric odd: cannot") {
		t.Errorf("got %v, expected the metric to be named", err)
	}
}

func TestAccumulationCountsBatches(t *testing.T) {
	fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		s, err := toyModel(mc, f, l)
		if err == nil && mc.Training() {
			s.TrainOp.AccumulateSteps = 2
		}
		return s, err
	})
	res, err := custom(t, fn, t.TempDir()).Train(context.Background(), forever(&toyData{}), estimator.Steps(7))
	if err != nil || res.GlobalStep != 7 {
		t.Errorf("got %+v, %v: expected 7 batches to be 7 steps", res, err)
	}
}
