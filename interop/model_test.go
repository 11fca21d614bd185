package interop_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// job is a canned model on images, in the form of a config file.
type job struct {
	network   string
	params    map[string]any
	optimizer string
	rule      map[string]any
	dir       string
	precision string
	warmStart string
	summaries int
}

// small is the mlp used by most tests.
func small(optimizer, dir string) job {
	return job{network: "mlp", params: map[string]any{"hidden_units": []any{32, 16}}, optimizer: optimizer,
		rule: map[string]any{"learning_rate": 0.01}, dir: dir}
}

func (j job) modelFn(t *testing.T) estimator.ModelFn {
	t.Helper()
	net, err := networks.New(j.network, j.params)
	if err != nil {
		t.Fatal(err)
	}
	opt, err := optimizers.New(j.optimizer, j.rule)
	if err != nil {
		t.Fatal(err)
	}
	head := heads.MultiClass(10)
	return heads.ModelFn(net, head, opt)
}

func (j job) estimator(t *testing.T) *estimator.Estimator {
	t.Helper()
	return j.estimatorOf(t, j.modelFn(t))
}

func (j job) estimatorOf(t *testing.T, fn estimator.ModelFn) *estimator.Estimator {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(j.dir), runconfig.TFRandomSeed(7), runconfig.SaveSummarySteps(j.summaries),
		runconfig.LogStepCountSteps(0), runconfig.Session(runconfig.SessionConfig{Precision: j.precision}))
	if err != nil {
		t.Fatal(err)
	}
	opts := []estimator.Option{estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	if j.warmStart != "" {
		opts = append(opts, estimator.WithWarmStart(estimator.WarmStart{From: j.warmStart}))
	}
	e, err := estimator.New(fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// data are labelled images.
type data struct{ images, labels *tensor.Tensor }

// glyphs returns the first n built-in digits.
func glyphs(t *testing.T, n int) data {
	t.Helper()
	ds, err := inputs.Glyphs(5, int64(n), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(i)
	}
	rec, err := ds.Gather(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	columns, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return data{columns[0].Tensor.Clone(), columns[1].Tensor.Clone()}
}

func (d data) tensors() map[string]*tensor.Tensor {
	return map[string]*tensor.Tensor{"images": d.images, "labels": d.labels}
}

// head returns the first n examples.
func (d data) head(n int) data {
	images := &tensor.Tensor{DType: d.images.DType, Shape: append([]int{n}, d.images.Shape[1:]...), Bytes: d.images.Bytes[:n*784]}
	return data{images, &tensor.Tensor{DType: d.labels.DType, Shape: []int{n}, Bytes: d.labels.Bytes[:n*8]}}
}

// batches yields the data in order.
func (d data) batches(size int) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		columns := []inputs.NamedTensor{{Name: "image", Role: inputs.Feature, Tensor: d.images}}
		if ic.Mode != inputs.Predict {
			columns = append(columns, inputs.NamedTensor{Name: "label", Role: inputs.Label, Tensor: d.labels})
		}
		ds, err := inputs.Slices(nil, columns...)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(size, false)), nil
	})
}

// lossHook keeps the loss of every step.
type lossHook struct {
	hooks.Base
	losses []float64
}

func (h *lossHook) Begin(s hooks.Setup) error { return s.Fetch("loss") }

func (h *lossHook) AfterRun(_ context.Context, r hooks.Run) error {
	v, err := r.Value("loss")
	if err == nil {
		h.losses = append(h.losses, v.Float(0))
	}
	return err
}

// train makes one pass over the data and returns the loss of each step.
func train(t *testing.T, e *estimator.Estimator, d data, batch int) []float64 {
	t.Helper()
	var h lossHook
	if _, err := e.Train(t.Context(), d.batches(batch), estimator.WithHooks(&h)); err != nil {
		t.Fatal(err)
	}
	return h.losses
}

// logits returns the model's predictions for all images, [n, 10].
func logits(t *testing.T, e *estimator.Estimator, d data) *tensor.Tensor {
	t.Helper()
	out := tensor.New(tensor.Float32, d.images.Shape[0], 10)
	row := 0
	for p, err := range e.Predict(t.Context(), d.batches(64), estimator.PredictKeys("logits")) {
		if err != nil {
			t.Fatal(err)
		}
		copy(out.Row(row).Bytes, p.Get("logits").Bytes)
		row++
	}
	return out
}

// stored returns the tensors of a checkpoint.
func stored(t *testing.T, prefix string) map[string]*tensor.Tensor {
	t.Helper()
	r, err := checkpoint.Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]*tensor.Tensor{}
	for _, name := range r.Names() {
		x, err := r.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = x
	}
	return out
}
