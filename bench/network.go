package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// workload is a model and its data.
type workload struct {
	model     func() (estimator.ModelFn, error)
	feature   []int // shape of one example
	ids       int64 // features are ids below this; 0: float32
	labels    int64 // labels are below this; 0: float32
	batch     int
	batches   int // in memory, used in turn
	predicted string
}

const (
	sparseRows = 1000000
	sparseIDs  = 40
)

var workloads = map[string]workload{
	"mlp":           {classifier("mlp", nil, "adam", nil), []int{784}, 0, 10, 128, 8, "probabilities"},
	"cnn":           {classifier("cnn", nil, "adam", nil), []int{28, 28, 1}, 0, 10, 64, 8, "probabilities"},
	"resnet20":      {classifier("resnet20", nil, "momentum", map[string]any{"learning_rate": 0.01}), []int{32, 32, 3}, 0, 10, 128, 4, "probabilities"},
	"resnet50":      {classifier("resnet50", nil, "momentum", map[string]any{"learning_rate": 0.001}), []int{224, 224, 3}, 0, 10, 32, 1, "probabilities"},
	"conv1d":        conv1D,
	"grouped":       grouped,
	"depthwise":     depthwise,
	"transformer":   {classifier("transformer_classifier", map[string]any{"layers": 1, "heads": 8, "width": 512, "vocabulary": 256, "dropout": 0.0}, "adam", nil), []int{512}, 256, 10, 8, 4, "probabilities"},
	"attention":     attention,
	"sparse_linear": {sparseLinear, []int{sparseIDs}, sparseRows, 2, 512, 8, "logits"},
	"loop":          {tiny, []int{1}, 0, 0, 1, 8, "y"},
}

// classifier is a network with a softmax over ten classes.
func classifier(network string, params map[string]any, rule string, hyper map[string]any) func() (estimator.ModelFn, error) {
	return func() (estimator.ModelFn, error) {
		n, err := networks.New(network, params)
		if err != nil {
			return nil, err
		}
		o, err := optimizers.New(rule, hyper)
		if err != nil {
			return nil, err
		}
		h := heads.MultiClass(10)
		return heads.ModelFn(n, h, o), nil
	}
}

// sparseLinear is a linear model on ids, with a logistic loss and Adagrad.
func sparseLinear() (estimator.ModelFn, error) {
	o, err := optimizers.New("adagrad", map[string]any{"learning_rate": 0.1})
	if err != nil {
		return nil, err
	}
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		w := layers.Embedding(mc, f.Dense("x"), sparseRows, 1, layers.Weights{})
		y := ops.Sum(mc, w, ops.Reduction{Axes: []int{1}})
		y = ops.Add(mc, y, mc.Variable("bias", []int{1}))
		spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		labels := ops.ExpandDims(mc, ops.Cast(mc, l.Only(), tensor.Float32), -1)
		spec.Loss = losses.SigmoidCrossEntropy(mc, labels, y, losses.Options{})
		spec.TrainOp = o.Minimize(mc, spec.Loss)
		return spec, nil
	}), nil
}

// tiny is y = w*x + b: a step is almost only the loop's own work.
func tiny() (estimator.ModelFn, error) {
	o, err := optimizers.New("sgd", map[string]any{"learning_rate": 0.01})
	if err != nil {
		return nil, err
	}
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		y := layers.Dense(mc, f.Dense("x"), 1, layers.Weights{})
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})
		spec.TrainOp = o.Minimize(mc, spec.Loss)
		return spec, nil
	}), nil
}

// estimator makes an Estimator without checkpoints, summaries or log lines.
func (w workload) estimator(opts ...estimator.Option) (*estimator.Estimator, error) {
	fn, err := w.model()
	if err != nil {
		return nil, err
	}
	rc, err := runconfig.New(runconfig.LogStepCountSteps(0), runconfig.SaveSummarySteps(0), runconfig.SaveCheckpointsSteps(0),
		runconfig.Session(runconfig.SessionConfig{IntraOpThreads: threads()}))
	if err != nil {
		return nil, err
	}
	withoutLog := estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	return estimator.New(fn, append([]estimator.Option{estimator.WithRunConfig(rc), withoutLog}, opts...)...)
}

// threads is the number of threads that the parent allows; 0: all.
func threads() int {
	n, err := strconv.Atoi(os.Getenv("BENCH_THREADS"))
	if err != nil {
		return 0
	}
	return n
}

// draw generates random data for the workload.
func (w workload) draw(r *rand.Rand) (x, y *tensor.Tensor) {
	n := w.batch * w.batches
	if w.ids > 0 {
		x = tensor.New(tensor.Int64, append([]int{n}, w.feature...)...)
		fillInts(r, tensor.Values[int64](x), w.ids)
	} else {
		x = tensor.New(tensor.Float32, append([]int{n}, w.feature...)...)
		fillUniform(r, tensor.Values[float32](x), 0.5, 0.5)
	}
	if w.labels > 0 {
		y = tensor.New(tensor.Int64, n)
		fillInts(r, tensor.Values[int64](y), w.labels)
		return x, y
	}
	y = tensor.New(tensor.Float32, n, 1)
	fillUniform(r, tensor.Values[float32](y), 0, 1)
	return x, y
}

// give generates data and weights and writes them to dir.
func (w workload) give(ctx context.Context, dir string) (*fixtures, error) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := w.draw(r)
	g := &fixtures{}
	e, err := w.estimator(estimator.WithModelDir(filepath.Join(dir, "describe")))
	if err != nil {
		return nil, err
	}
	d, err := e.Describe(ctx, models.Train, w.input(x, y, w.batch))
	if err != nil {
		return nil, err
	}
	for _, v := range d.Variables {
		g.add(v.Name, false, newWeight(r, v.Name, v.Shape))
	}
	g.add("x", true, x)
	g.add("y", true, y)
	return g, g.write(ctx, dir)
}

// input repeats data in memory without end.
func (w workload) input(x, y *tensor.Tensor, batch int) estimator.InputFn {
	return estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "x", Role: inputs.Feature, Tensor: x},
			inputs.NamedTensor{Name: "y", Role: inputs.Label, Tensor: y})
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(batch, true)), nil
	})
}

func lookUp(name string) (workload, error) {
	w, ok := workloads[name]
	if !ok {
		return w, fmt.Errorf("no workload %q", name)
	}
	return w, nil
}
