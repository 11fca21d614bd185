package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// smallNet is a network with dropout.
func smallNet(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := layers.Dense(mc, features.Dense("x"), 16, layers.Weights{Activation: ops.Relu})
	logits := layers.Dense(mc, layers.Dropout(mc, x, 0.2), 3, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": logits}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})
	if mc.Mode() == models.Train {
		o := optimizers.Adam(0.01, optimizers.WithEpsilon(1e-7))
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// onDevice returns an Estimator of smallNet that computes on a device, "" for the first GPU.
func onDevice(t *testing.T, dir, dev string, more ...estimator.Option) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(10), runconfig.SaveSummarySteps(10),
		runconfig.SaveCheckpointsSteps(20), runconfig.TrainDistribute(runconfig.Strategy{Name: "default", Device: dev}))
	if err != nil {
		t.Fatal(err)
	}
	opts := append([]estimator.Option{estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler))}, more...)
	return custom(t, estimator.ModelFunc(smallNet), dir, opts...)
}

// TestCheckpointsOfAnyDevice trains 30 steps on one device and 30 on another. It compares variables, the optimizer's
// slots, evaluation, predictions and the exported model with those of 60 steps on the host.
func TestCheckpointsOfAnyDevice(t *testing.T) {
	testkit.NotConcurrent(t)
	gpu := gpustest.Emulated(t, 1)
	train := func(first, second string) *estimator.Estimator {
		dir := t.TempDir()
		var e *estimator.Estimator
		for i, dev := range []string{first, second} {
			e = onDevice(t, dir, dev, estimator.WithGPUs(gpu))
			res, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(int64(30*(i+1))))
			if err != nil {
				t.Fatal(err)
			}
			if res.GlobalStep != int64(30*(i+1)) || math.IsNaN(res.Loss) {
				t.Fatalf("got %+v", res)
			}
		}
		return e
	}
	want := train("/cpu:0", "/cpu:0")
	names, err := want.VariableNames()
	if err != nil {
		t.Fatal(err)
	}
	for _, devs := range [][2]string{{"", "/cpu:0"}, {"/cpu:0", "/gpu:0"}, {"/gpu:0", ""}} {
		got := train(devs[0], devs[1])
		for _, name := range names {
			nearly(t, devs, name, value(t, want, name), value(t, got, name))
		}
		for i, p := range predictions(t, got) {
			nearly(t, devs, "predictions", predictions(t, want)[i], p)
		}
		a, err := want.Evaluate(t.Context(), estimator.InputFunc(equalData), estimator.Steps(5))
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Evaluate(t.Context(), estimator.InputFunc(equalData), estimator.Steps(5))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := a.Scalar("loss")
		y, _ := b.Scalar("loss")
		if math.Abs(x-y) > 1e-5 || b.GlobalStep != 60 {
			t.Errorf("%v: loss %g at step %d, expected %g", devs, y, b.GlobalStep, x)
		}
		dir, err := got.ExportSavedModel(t.Context(), t.TempDir(), estimator.RawServingInput(inputs.Column{Name: "x", Role: inputs.Feature, DType: tensor.Float32, Shape: []int{6}}))
		if err != nil {
			t.Fatal(err)
		}
		served(t, gpu, dir, predictions(t, want)[0])
	}
}

// served runs an exported model on a GPU, on the first row of the data, in batches of several sizes.
func served(t *testing.T, gpu gpus.Source, dir string, want *tensor.Tensor) {
	t.Helper()
	d, err := gpu.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := session.Open(t.Context(), dir, session.Options{Device: d})
	if err != nil {
		t.Fatal(err)
	}
	sig := m.Signatures()["serving_default"]
	in, out := sig.GetInputs()["x"].GetName(), ""
	for _, o := range sig.GetOutputs() {
		out = o.GetName()
	}
	row := firstRow(t)
	for _, rows := range []int{1, 3, 2} {
		x, err := tensor.FromSlice(slices.Repeat(row, rows), rows, len(row))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Run(t.Context(), map[string]*tensor.Tensor{in: x}, []string{out})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Len() * rows {
			if w, g := want.Float(i%want.Len()), got[0].Float(i); !testkit.Near(g, w, 1e-5) {
				t.Fatalf("%d rows served: element %d: expected %g, got %g", rows, i, w, g)
			}
		}
	}
	if d.(*cuda.Device).Used() == 0 {
		t.Error("expected the model on the GPU")
	}
	if err := errors.Join(m.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// firstRow is feature x of the first row of equalData.
func firstRow(t *testing.T) []float32 {
	t.Helper()
	ds, err := equalData(t.Context(), inputs.Context{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	all, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(tensor.Values[float32](all[0].Tensor)[:6])
}

func value(t *testing.T, e *estimator.Estimator, name string) *tensor.Tensor {
	t.Helper()
	v, err := e.VariableValue(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func predictions(t *testing.T, e *estimator.Estimator) []*tensor.Tensor {
	t.Helper()
	var out []*tensor.Tensor
	for p, err := range e.Predict(t.Context(), estimator.InputFunc(equalData), estimator.Steps(1)) {
		if err != nil {
			t.Fatal(err)
		}
		v := p.Get("logits")
		out = append(out, v.Clone())
	}
	return out
}

func nearly(t *testing.T, devs [2]string, name string, want, got *tensor.Tensor) {
	t.Helper()
	for i := range want.Len() {
		if w, g := want.Float(i), got.Float(i); !testkit.Near(g, w, 1e-5*max(1, math.Abs(w))) {
			t.Fatalf("%q, %s, element %d: expected %g, got %g", devs, name, i, w, g)
		}
	}
}

// counter counts steps, and steps whose tensors have values.
type counter struct {
	hooks.Base
	steps, read int
}

func (c *counter) Reads(hooks.Run) bool { return false }

func (c *counter) AfterRun(_ context.Context, r hooks.Run) error {
	c.steps++
	if !hooks.Unread(r) {
		c.read++
	}
	return nil
}

// TestStepsThatNobodyReads checks that training waits only for steps that hooks read, and the last one.
func TestStepsThatNobodyReads(t *testing.T) {
	c := &counter{}
	e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpustest.Emulated(t, 1)))
	res, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.WithHooks(c))
	if err != nil {
		t.Fatal(err)
	}
	// Logging and summaries: 1, 10, 20, ...; 11, 21, ...; checkpoints: 20, 40, ...; end of the input: 100.
	if c.steps != 100 || c.read > 21 || c.read < 11 {
		t.Errorf("%d of %d steps were read, expected about 20 of 100", c.read, c.steps)
	}
	if res.StopReason != estimator.StopEndOfInput || math.IsNaN(res.Loss) {
		t.Errorf("got %+v", res)
	}
}

// TestNaNOfUnreadStep checks that a NaN in an unread step ends training before anything is saved.
func TestNaNOfUnreadStep(t *testing.T) {
	e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpustest.Emulated(t, 1)))
	data := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		x, y := make([]float32, 24*40*6), make([]int32, 24*40)
		for i := 24 * 13 * 6; i < len(x); i++ {
			x[i] = float32(math.NaN())
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 6), inputs.Slice("y", inputs.Label, y))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(24, false)), nil
	})
	_, err := e.Train(t.Context(), data)
	var nan *hooks.NaNLossError
	if !errors.As(err, &nan) || nan.Step < 14 || nan.Step > 20 {
		t.Errorf("expected a NaN at step 14 to 20, got %v", err)
	}
	if p, err := e.LatestCheckpoint(); err != nil || filepath.Base(p) != "model.ckpt-0" {
		t.Errorf("expected the checkpoint of step 0 alone, got %s, %v", p, err)
	}
}

// TestLostGPU checks that a process asks to be restarted after its GPU is lost.
func TestLostGPU(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	gpu.Lost = true
	e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpu))
	lose := hookFunc(func(r hooks.Run) error {
		if r.GlobalStep() == 25 {
			gpu.Driver.Inject("Synchronize", 0, &driver.Error{Call: "cuStreamSynchronize", Code: driver.CodeIllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"})
		}
		return nil
	})
	_, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.WithHooks(lose))
	if !errors.Is(err, device.ErrLost) || estimator.ExitCode(err) != estimator.ExitPeerLost {
		t.Errorf("expected a lost device and exit code 138, got %v, %d", err, estimator.ExitCode(err))
	}
	if p, err := e.LatestCheckpoint(); err != nil || filepath.Base(p) != "model.ckpt-20" {
		t.Errorf("expected the checkpoint of step 20, got %s, %v", p, err)
	}
}

// TestFullGPU checks that the error for a model that is too large has sizes and says what
// to do.
func TestFullGPU(t *testing.T) {
	gpu := gpustest.Emulated(t, 1)
	e := onDevice(t, t.TempDir(), "", estimator.WithGPUs(gpu))
	gpu.Driver.Inject("Alloc", 5, &driver.Error{Call: "cuMemAlloc", Code: driver.CodeOutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory"})
	_, err := e.Train(t.Context(), estimator.InputFunc(equalData))
	for _, says := range []string{"bytes on emulated GPU 0", "in use by this process", "make the batch or the model smaller"} {
		if err == nil || !strings.Contains(err.Error(), says) || !errors.Is(err, device.ErrMemory) || estimator.ExitCode(err) != estimator.ExitError {
			t.Errorf("expected to hear %q, got %v", says, err)
		}
	}
}

// hookFunc is a hook that is called after each step.
type hookFunc func(hooks.Run) error

func (hookFunc) Begin(hooks.Setup) error                             { return nil }
func (hookFunc) AfterCreateSession(context.Context, hooks.Run) error { return nil }
func (hookFunc) BeforeRun(context.Context, hooks.Run) error          { return nil }
func (f hookFunc) AfterRun(_ context.Context, r hooks.Run) error     { return f(r) }
func (hookFunc) End(context.Context, hooks.Run) error                { return nil }

// TestWithoutGPU checks that a missing GPU is not reported, unless the precision is one that the host does not
// have. It is an error if the device asks for a GPU.
func TestWithoutGPU(t *testing.T) {
	var log bytes.Buffer
	rc, err := runconfig.FromTFConfig("", runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.Session(runconfig.SessionConfig{Precision: "bf16_mixed"}))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := custom(t, estimator.ModelFunc(smallNet), dir, estimator.WithRunConfig(rc), estimator.WithModelDir(dir), estimator.WithGPUs(noGPU{}), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if _, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Evaluate(t.Context(), estimator.InputFunc(equalData), estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "precision bf16_mixed is a GPU's") {
		t.Errorf("expected one warning, got %s", &log)
	}
	_, err = onDevice(t, t.TempDir(), "/gpu:1", estimator.WithGPUs(noGPU{})).Train(t.Context(), estimator.InputFunc(equalData))
	if err == nil || !strings.Contains(err.Error(), "device /gpu:1 cannot be used: no GPU") {
		t.Errorf("expected to hear that there is no such GPU, got %v", err)
	}
}

// noGPU is a machine without GPUs.
type noGPU struct{}

func (noGPU) Count() (int, error) { return 0, gpus.ErrNone }

func (noGPU) Open(context.Context, int) (device.Device, error) { return nil, gpus.ErrNone }
