package main

import (
	"context"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const (
	embeddingDim = 20 // length of a word's vector
	embeddings   = "embedding/embeddings"
)

// program has the functions that the chief schedules and workers run, by name.
type program struct {
	*distribute.Strategy
	epochs                 int
	train, eval            *distribute.Function
	accuracy, evalAccuracy *distribute.Metric
	trainStep, evalStep    *distribute.Remote
	data, evalData         *distribute.WorkerDataset
	validation             *distribute.Evaluation
}

// newProgram defines the functions of a task; they are the same in all tasks.
func newProgram(s *distribute.Strategy, epochs int) (p *program, err error) {
	p = &program{Strategy: s, epochs: epochs}
	if p.accuracy, err = s.Metric("accuracy", newAccuracy); err != nil {
		return nil, err
	}
	if p.evalAccuracy, err = s.Metric("eval_accuracy", newAccuracy); err != nil {
		return nil, err
	}
	if p.train, err = s.Function("train", models.Train, trainText); err != nil {
		return nil, err
	}
	if p.eval, err = s.Function("eval", models.Eval, evalText("eval_accuracy")); err != nil {
		return nil, err
	}
	if p.validation, err = s.Evaluation("validation", distribute.EvaluationSpec{Build: evalText("accuracy"), Data: held,
		Metrics: map[string]func() (metrics.Accumulator, error){"accuracy": newAccuracy}}); err != nil {
		return nil, err
	}
	if p.data, err = s.WorkerDataset("training", training); err != nil {
		return nil, err
	}
	if p.evalData, err = s.WorkerDataset("held", heldAgain); err != nil {
		return nil, err
	}
	if p.trainStep, err = s.Remote("train", onNextBatch(p.train)); err != nil {
		return nil, err
	}
	p.evalStep, err = s.Remote("eval", onNextBatch(p.eval))
	return p, err
}

func newAccuracy() (metrics.Accumulator, error) { return metrics.NewAccuracy(), nil }

// onNextBatch runs a function on the next batch of the worker's data set, and returns the loss.
func onNextBatch(f *distribute.Function) distribute.RemoteFunc {
	return func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		it, err := call.Iterator(0)
		if err != nil {
			return nil, err
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return nil, err
		}
		res, err := f.Run(ctx, batch)
		if err != nil {
			return nil, err
		}
		return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
	}
}

// net returns the logits of examples, their labels, and the predicted classes.
func net(c *distribute.Context) (logits, labels, classes *G.Node) {
	ids, label := c.Arg("features", tensor.Int64, words), c.Arg("label", tensor.Int64)
	vectors := layers.Embedding(c, ids, wordRows, embeddingDim, layers.Weights{})
	logits = layers.Dense(c, ops.Mean(c, vectors, ops.Axes(1)), 1, layers.Weights{})
	logits = ops.Reshape(c, logits, c.Batch())
	classes = ops.Cast(c, ops.Greater(c, logits, ops.Scalar(c, tensor.Float32, 0)), tensor.Int64)
	return logits, label, classes
}

// crossEntropy is the mean binary cross-entropy.
func crossEntropy(c *distribute.Context, logits, labels *G.Node) *G.Node {
	return losses.SigmoidCrossEntropy(c, ops.Cast(c, labels, tensor.Float32), logits, losses.Options{})
}

// trainText is one training step.
func trainText(c *distribute.Context) (distribute.Outputs, error) {
	logits, labels, classes := net(c)
	loss := crossEntropy(c, logits, labels)
	return distribute.Outputs{Loss: loss, Train: optimizers.RMSProp(0.1, optimizers.WithKeras()).Minimize(c, loss),
		Metrics: map[string][]*G.Node{"accuracy": {labels, classes}}}, nil
}

// evalText is an evaluation step, which updates a metric.
func evalText(metric string) distribute.Build {
	return func(c *distribute.Context) (distribute.Outputs, error) {
		logits, labels, classes := net(c)
		return distribute.Outputs{Loss: crossEntropy(c, logits, labels), Metrics: map[string][]*G.Node{metric: {labels, classes}}}, nil
	}
}
