package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// supervisedCase is an exported model with graphs for training and evaluation, and
// the results that they must give, batch by batch.
type supervisedCase struct {
	Name      string             `json:"name"`
	Model     string             `json:"model"`
	Feeds     string             `json:"feeds"`
	Rows      int                `json:"rows"`
	Batch     int                `json:"batch"`
	Losses    []float64          `json:"losses"` // of the steps after the export
	Metrics   map[string]float64 `json:"metrics"`
	Variables string             `json:"variables"` // after these steps
}

const (
	supervisedRows  = 40
	supervisedBatch = 20
	supervisedSteps = 6
)

// TestTensorFlowTrainsExports loads the graphs of training and evaluation in TensorFlow: losses
// and variables over some steps of the train_op, and metrics, equal ours.
func TestTensorFlowTrainsExports(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	py, work := peers(t), t.TempDir()
	var list []supervisedCase
	eachSupervised(t, work, func(m supervisedModel) { list = append(list, supervised(t, m)) })
	if len(list) == 0 {
		t.Skip("skipped: no case is chosen")
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(work, "cases.json")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	py.run(t, "export_supervised.py", path)
}

// supervisedModel is a model to train and export.
type supervisedModel struct {
	dir   string
	e     *estimator.Estimator
	data  map[string]*tensor.Tensor
	label string
}

// eachSupervised calls f for each of the chosen models, in folders below work.
func eachSupervised(t *testing.T, work string, f func(supervisedModel)) {
	t.Helper()
	for _, c := range slices.Concat(chosen(cannedCases()), chosen(rnnCases())) {
		if c.Label == "label_steps" {
			continue // it is ragged and encoded on the host, so no graph can take it
		}
		r := exportableRun(c, rnnData(supervisedRows))
		f(supervisedModel{filepath.Join(work, c.Name), r.estimator(t, filepath.Join(work, c.Name, "model")), r.data, c.Label})
	}
	for i, o := range supervisedOptimizers {
		dir := filepath.Join(work, fmt.Sprintf("%d_%s_%s", i, o.rule, o.labels))
		rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(filepath.Join(dir, "model")), runconfig.TFRandomSeed(7))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(o.model(t), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		f(supervisedModel{dir, e, cannedData(supervisedRows), o.labels})
	}
}

// input returns the model's examples in batches.
func (m supervisedModel) input(endless bool) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := cannedSet(m.data, m.label, false)
		if err != nil {
			return nil, err
		}
		steps := []inputs.Transform{inputs.Batch(supervisedBatch, false)}
		if endless {
			steps = append([]inputs.Transform{inputs.Repeat(-1)}, steps...)
		}
		return inputs.Pipe(ds, steps...), nil
	})
}

// export trains two steps and exports the model; it returns the SavedModel's folder.
func (m supervisedModel) export(t *testing.T) string {
	t.Helper()
	if _, err := m.e.Train(t.Context(), m.input(true), estimator.MaxSteps(2)); err != nil {
		t.Fatalf("%s: %v", m.dir, err)
	}
	columns, err := m.e.ServingColumns(t.Context(), m.input(false))
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.e.ExportSavedModel(t.Context(), m.dir, estimator.RawServingInput(columns...), estimator.ExportModes(models.Train, models.Eval), estimator.ExportSequenceLength(8))
	if err != nil {
		t.Fatalf("%s: %v", m.dir, err)
	}
	return out
}

// supervised trains two steps, exports, evaluates and continues training.
func supervised(t *testing.T, m supervisedModel) supervisedCase {
	t.Helper()
	e, dir, d, in := m.e, m.dir, m.data, m.input
	c := supervisedCase{Name: filepath.Base(dir), Model: m.export(t), Batch: supervisedBatch, Rows: supervisedRows, Metrics: map[string]float64{}}
	result, err := e.Evaluate(t.Context(), in(false))
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	for name := range result.Metrics {
		if x, ok := result.Scalar(name); ok {
			c.Metrics[name] = x
		}
	}
	h := &lossHook{}
	if _, err := e.Train(t.Context(), in(true), estimator.Steps(supervisedSteps), estimator.WithHooks(h)); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	c.Losses = h.losses
	feeds := rawFeeds(d)
	delete(feeds, "offsets")
	words := []string{"low", "mid", "high"}
	feeds["label_word"] = tensor.New(tensor.Int64, supervisedRows)
	for i, w := range d["label_word"].Strings {
		tensor.Values[int64](feeds["label_word"])[i] = int64(slices.Index(words, string(w)))
	}
	c.Feeds = save(t, filepath.Join(dir, "feeds"), feeds)
	names, err := e.VariableNames()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]*tensor.Tensor{}
	for _, name := range names {
		if values[name], err = e.VariableValue(name); err != nil {
			t.Fatal(err)
		}
	}
	c.Variables = save(t, filepath.Join(dir, "variables"), values)
	return c
}

// supervisedOptimizer is a rule with its parameters, and the label that the model learns.
type supervisedOptimizer struct {
	rule   string
	params map[string]any
	labels string
}

// supervisedOptimizers are all rules, with schedules, clips, accumulation and loss scales.
var supervisedOptimizers = []supervisedOptimizer{
	{"sgd", map[string]any{"learning_rate": 0.1}, "label2"},
	{"momentum", map[string]any{"learning_rate": 0.05}, "label3"},
	{"momentum", map[string]any{"learning_rate": 0.05, "nesterov": true, "clip_norm": 0.1}, "label_number"},
	{"adam", map[string]any{"learning_rate": 0.01, "global_clip_norm": 0.5}, "label2"},
	{"adam", map[string]any{"learning_rate": map[string]any{"schedule": "exponential", "initial": 0.01, "decay_steps": 2, "decay_rate": 0.5}}, "label3"},
	{"adamw", map[string]any{"learning_rate": 0.01, "weight_decay": 0.1}, "label_number"},
	{"adagrad", map[string]any{"learning_rate": 0.1, "clip_value": 0.05}, "label2"},
	{"rmsprop", map[string]any{"learning_rate": 0.01, "momentum": 0.5}, "label3"},
	{"rmsprop", map[string]any{"learning_rate": 0.01, "centered": true}, "label2"},
	{"rmsprop", map[string]any{"learning_rate": 0.01, "centered": true, "momentum": 0.5, "clip_norm": 0.05}, "label3"},
	{"ftrl", map[string]any{"learning_rate": 0.1, "l1": 0.01, "l2": 0.01}, "label2"},
	{"ftrl", map[string]any{"learning_rate": 0.1, "l2_shrinkage": 0.01, "beta": 0.1, "learning_rate_power": -0.4, "global_clip_norm": 0.2}, "label_number"},
	{"keras_sgd", map[string]any{"learning_rate": 0.05, "momentum": 0.9, "nesterov": true}, "label2"},
	{"keras_adam", map[string]any{"learning_rate": 0.01, "slot_names": "keras"}, "label3"},
	{"keras_adamw", map[string]any{"learning_rate": 0.01}, "label2"},
	{"keras_adagrad", map[string]any{"learning_rate": 0.05}, "label_number"},
	{"keras_rmsprop", map[string]any{"learning_rate": 0.01}, "label3"},
	{"keras_rmsprop", map[string]any{"learning_rate": 0.01, "centered": true}, "label2"},
	{"keras_rmsprop", map[string]any{"learning_rate": 0.01, "centered": true, "momentum": 0.5}, "label2"},
	{"keras_ftrl", map[string]any{"learning_rate": 0.1}, "label2"},
	{"adam", map[string]any{"learning_rate": 0.01, "accumulate_steps": 2}, "label2"},
	{"adam", map[string]any{"learning_rate": 0.01, "loss_scale": "dynamic"}, "label3"},
	{"sgd", map[string]any{"learning_rate": 0.1, "accumulate_steps": 3}, "label_number"},
	{"momentum", map[string]any{"learning_rate": 0.05, "loss_scale": "dynamic"}, "label2"},
	{"adam", map[string]any{"learning_rate": 0.01, "loss_scale": "dynamic", "accumulate_steps": 2, "global_clip_norm": 0.5}, "label3"},
	{"keras_sgd", map[string]any{"learning_rate": 0.05, "loss_scale": 1024}, "label2"},
}

// model is a network with embeddings (sparse gradients), batch normalisation (which also updates
// averages) and dropout (whose random numbers depend on the global step).
func (o supervisedOptimizer) model(t *testing.T) estimator.ModelFn {
	t.Helper()
	opt, err := optimizers.New(o.rule, o.params)
	if err != nil {
		t.Fatal(err)
	}
	network := func(mc models.Context, f models.Features, n int) *G.Node {
		level := f.Dense("level")
		table := mc.Core().Variable("table", []int{7, 3}, models.WithInit(initializers.RandomUniform{Min: -1, Max: 1}))
		looked := ops.Concat(mc, 1, ops.Lookup(mc, table, level), ops.Gather(mc, table, level)) // the clip applies to two lookups, one of which sums
		x := ops.Concat(mc, 1, f.Dense("pair"), layers.Embedding(mc, level, 7, 4, layers.Weights{}), looked)
		x = layers.BatchNorm(mc, layers.Dense(mc, x, 8, layers.Weights{Activation: ops.Tanh}), layers.Norm{})
		return layers.Dense(mc, layers.Dropout(mc, x, 0.25), n, layers.Weights{Name: "out"})
	}
	var head heads.Head
	switch o.labels {
	case "label2":
		head = heads.BinaryClass()
	case "label3":
		head = heads.MultiClass(3)
	default:
		head = heads.Regression(1)
	}
	return heads.ModelFn(network, head, opt)
}
