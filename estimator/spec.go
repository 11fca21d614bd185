package estimator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Spec is what a model_fn returns: the graph of one mode. Train requires Loss and
// TrainOp, Eval requires Loss, and Predict requires Predictions or Texts.
type Spec struct {
	Mode models.Mode

	// Predictions by name; dimension 0 of each is the batch.
	Predictions Nodes
	// Texts are predictions of words, which the host looks up by ids.
	Texts Texts
	// Loss is the scalar to minimise.
	Loss *G.Node
	// TrainOp says how the loss is minimised; optimizers.Optimizer.Minimize makes one.
	TrainOp *optimizers.TrainOp
	// EvalMetrics by name. "loss" and "global_step" are reserved.
	EvalMetrics Metrics
	// ExportOutputs are the signatures of an export by name; without any, one signature has all Predictions.
	ExportOutputs map[string]ExportOutput

	TrainingHooks      []hooks.Hook // on every training task
	TrainingChiefHooks []hooks.Hook // on the chief only
	EvaluationHooks    []hooks.Hook
	PredictionHooks    []hooks.Hook

	// Scaffold adjusts how variables get their first values; nil for the default.
	Scaffold *Scaffold
}

// Nodes are graph nodes by name.
type Nodes map[string]*G.Node

// Metrics are metrics by name.
type Metrics map[string]Metric

// ExportKind is the kind of a signature.
type ExportKind string

// The kinds of signatures, named as the last part of TensorFlow Serving's method names.
const (
	ExportPredict  ExportKind = "predict"
	ExportClassify ExportKind = "classify"
	ExportRegress  ExportKind = "regress"
)

// ExportOutput is one signature of an exported model.
type ExportOutput struct {
	Kind    ExportKind
	Outputs Nodes
	Texts   Texts // outputs of words
}

// Scaffold adjusts how the variables of a model get their first values.
type Scaffold struct {
	// InitFn runs once variables are initialised and no checkpoint was found.
	InitFn func(v VariableSetter) error
}

// VariableSetter sets variables by name. The value must have the variable's type and shape.
type VariableSetter interface {
	Set(name string, value *tensor.Tensor) error
}

func (s *Spec) validate(mode models.Mode) error {
	if s == nil {
		return errors.New("model_fn returned no Spec: return one or an error")
	}
	if s.Mode == "" {
		s.Mode = mode
	}
	if s.Mode != mode {
		return fmt.Errorf("model_fn returned a Spec for mode %q: expected %q", s.Mode, mode)
	}
	switch mode {
	case models.Train:
		if s.Loss == nil {
			return errors.New("missing loss: a Spec for training needs one")
		}
		if s.TrainOp == nil {
			return errors.New("missing train_op: a Spec for training needs one, see optimizers.Optimizer.Minimize")
		}
		if err := s.TrainOp.Check(); err != nil {
			return err
		}
	case models.Eval:
		if s.Loss == nil {
			return errors.New("missing loss: a Spec for evaluation needs one")
		}
	case models.Predict:
		if len(s.Predictions)+len(s.Texts) == 0 {
			return errors.New("missing predictions: a Spec for prediction needs at least one")
		}
	}
	if s.Loss != nil && s.Loss.Shape().TotalSize() != 1 {
		return fmt.Errorf("loss must be scalar, given: %v", s.Loss.Shape())
	}
	for name, t := range s.Texts {
		if s.Predictions[name] != nil || t.IDs == nil {
			return fmt.Errorf("text %q: expected ids, and no prediction of that name", name)
		}
	}
	for name, m := range s.EvalMetrics {
		if name == "loss" || name == "global_step" {
			return fmt.Errorf("metric name %q is reserved: choose another", name)
		}
		if m.New == nil {
			return fmt.Errorf("metric %q has no accumulator", name)
		}
	}
	for _, hs := range [][]hooks.Hook{s.TrainingHooks, s.TrainingChiefHooks, s.EvaluationHooks, s.PredictionHooks} {
		if slices.Contains(hs, nil) {
			return errNilHook
		}
	}
	return nil
}
