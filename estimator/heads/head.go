package heads

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// A Head makes the Spec of a model out of its logits.
type Head interface {
	// Name is the suffix of the head's metrics, "" for none.
	Name() string
	// LogitsDimension is the number of logits that the head needs per example.
	LogitsDimension() int
	// LossReduction says how the losses of the examples become one number.
	LossReduction() losses.Reduction
	// Part returns what the head computes from the logits in mc's mode.
	Part(mc *estimator.ModelContext, in Inputs) (*Part, error)
	// Spec returns the Spec of mc's mode; in.Labels is empty when predicting.
	Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error)
}

// Inputs are what a Head works on.
type Inputs struct {
	Features models.Features
	Labels   models.Labels
	// Logits are [batch, LogitsDimension].
	Logits *G.Node
	// HeadLogits, in place of Logits, are the logits of each head of a MultiHead, by its name.
	HeadLogits map[string]*G.Node
	// Optimizer minimises the loss when training; nil: the Estimator's.
	Optimizer *optimizers.Optimizer
	// TrainOp, in place of an Optimizer, says how the loss is minimised.
	TrainOp func(loss *G.Node) *optimizers.TrainOp
}

// Part is what a head computes from logits, before regularization and training.
type Part struct {
	Predictions   estimator.Nodes
	Texts         estimator.Texts
	ExportOutputs map[string]estimator.ExportOutput
	Loss          *G.Node // scalar; nil when predicting
	Metrics       estimator.Metrics
}

// base is what the heads have in common: options and the number of logits.
type base struct {
	options
	dimension int
	err       error // of the constructor
}

// Err returns what is wrong with the options that the constructor was given.
func (b base) Err() error { return b.err }

// Name is the name that WithName has set, "" for none.
func (b base) Name() string { return b.name }

// LogitsDimension is the number of logits per example.
func (b base) LogitsDimension() int { return b.dimension }

// LossReduction is the reduction that WithLossReduction has set, or the default.
func (b base) LossReduction() losses.Reduction { return b.reduction }

// checkLogits reports wrong options, and logits whose shape is not [batch, dimension].
func (b base) checkLogits(logits *G.Node) error {
	if b.err != nil {
		return b.err
	}
	if logits == nil {
		return errors.New("the logits are nil: expected a node [batch, logits_dimension]")
	}
	if s := logits.Shape(); len(s) != 2 || s[1] != b.dimension {
		return fmt.Errorf("logits shape must be [D0, D1, ... DN, logits_dimension], got %v: expected [batch %d]", s, b.dimension)
	}
	return nil
}

// loss reduces the losses of examples, which loss_fn computes or, without one, own.
func (b base) loss(mc *estimator.ModelContext, in LossInputs, weights *G.Node, width int, own func(losses.Options) *G.Node) (each, total *G.Node, err error) {
	reduced := losses.Options{Weights: weights, Reduction: b.reduction}
	if b.lossFn == nil {
		return own(losses.Options{Reduction: losses.None}), own(reduced), nil
	}
	each = b.lossFn(mc, in)
	if mc.Failed() {
		return nil, nil, mc.Err()
	}
	if each == nil || len(each.Shape()) != 2 || each.Shape()[0] != in.Logits.Shape()[0] || each.Shape()[1] != width {
		return nil, nil, fmt.Errorf("loss_fn must return a node of shape [D0, D1, ... DN, %d]: logits_shape: %v, loss_shape: %v", width, in.Logits.Shape(), shapeOf(each))
	}
	return each, losses.Weighted(mc, each, reduced), nil
}

func shapeOf(n *G.Node) any {
	if n == nil {
		return "nil"
	}
	return n.Shape()
}

// spec turns a head's part into the Spec of mc's mode.
func spec(mc *estimator.ModelContext, h Head, in Inputs) (*estimator.Spec, error) {
	p, err := h.Part(mc, in)
	if err != nil {
		return nil, err
	}
	s := &estimator.Spec{Mode: mc.Mode(), Predictions: p.Predictions, Texts: p.Texts, ExportOutputs: p.ExportOutputs, EvalMetrics: p.Metrics}
	if err := addPredictions(s, mc.AddedPredictions()); err != nil {
		return nil, err
	}
	if mc.Mode() == models.Predict || mc.Failed() {
		return s, mc.Err()
	}
	s.Loss = optimizers.TotalLoss(mc, p.Loss)
	if rs := mc.RegularizationLosses(); len(rs) > 0 {
		total := rs[0]
		for _, r := range rs[1:] {
			total = ops.Add(mc, total, r)
		}
		s.EvalMetrics[suffixed("regularization_loss", h.Name())] = meanOf(total)
		summarize(mc, h, "regularization_loss", total)
	}
	summarize(mc, h, "loss", s.Loss)
	if mc.Mode() != models.Train {
		return s, mc.Err()
	}
	if n := mc.ReplicasInSync(); n > 1 && h.LossReduction() == losses.Sum {
		// Strategies take the mean over replicas, but this loss is summed.
		s.Loss = ops.Mul(mc, s.Loss, ops.Scalar(mc, models.GraphType(s.Loss.Dtype()), float64(n)))
	}
	if s.TrainOp, err = trainOp(mc, in, s.Loss); err != nil {
		return nil, err
	}
	return s, mc.Err()
}

// addPredictions adds the network's predictions to a Spec and to its predict signature.
func addPredictions(s *estimator.Spec, added map[string]*G.Node) error {
	for name, x := range added {
		_, word := s.Texts[name]
		if _, has := s.Predictions[name]; has || word {
			return fmt.Errorf("the network's prediction %q: the head has one of that name: give another", name)
		}
		s.Predictions[name] = x
		if out, ok := s.ExportOutputs["predict"]; ok && out.Kind == estimator.ExportPredict {
			out.Outputs[name] = x
		}
	}
	return nil
}

func trainOp(mc *estimator.ModelContext, in Inputs, loss *G.Node) (*optimizers.TrainOp, error) {
	switch {
	case in.Optimizer != nil && in.TrainOp != nil:
		return nil, errors.New("train_op_fn and optimizer cannot both be set")
	case in.Optimizer != nil:
		return in.Optimizer.Minimize(mc, loss), nil
	case in.TrainOp != nil:
		return in.TrainOp(loss), nil
	case mc.Optimizer() != nil:
		return mc.Optimizer().Minimize(mc, loss), nil
	}
	return nil, errors.New("train_op_fn and optimizer cannot both be nil: give the Estimator an optimizer, by WithOptimizer")
}

// summarize adds a summary of a training loss, except of "loss", which the training loop has.
func summarize(mc *estimator.ModelContext, h Head, key string, n *G.Node) {
	tag := suffixed(key, h.Name())
	if _, ok := h.(MultiHead); ok {
		tag = key
	}
	if mc.Training() && tag != "loss" {
		mc.Summarize(models.ScalarSummary, tag, n)
	}
}

// suffixed returns a metric's name in a head of that name.
func suffixed(key, name string) string {
	if name == "" {
		return key
	}
	return strings.Join([]string{key, name}, "/")
}
