package canned_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
	"go.yaml.in/yaml/v3"
)

// trades declares the columns that the tests name.
func trades() *feature.Set {
	return ok(feature.Build([]feature.Spec{
		{Name: "age", Type: "numeric", Key: "age"},
		{Name: "trade", Type: "vocabulary", Key: "trade", Vocabulary: []string{"baker", "nurse"}},
		{Name: "present", Type: "indicator", Of: "trade"},
	}))
}

// An optimizer that is given only by its name has tf.estimator's learning rate.
func TestLearningRates(t *testing.T) {
	many := []string{"trade", "age"}
	for _, c := range []struct {
		name   string
		params estimator.Params
		want   map[string]float64
	}{
		{"linear_classifier", estimator.Params{"feature_columns": many}, map[string]float64{"training/Ftrl/learning_rate": 0.2}},
		{"linear_regressor", estimator.Params{"feature_columns": []any{"trade"}, "optimizer": "Adam"}, map[string]float64{"training/Adam/learning_rate": 0.2}},
		{"linear_classifier", estimator.Params{"feature_columns": many, "optimizer": map[string]any{"name": "Adam"}}, map[string]float64{"training/Adam/learning_rate": 0.001}},
		{"dnn_classifier", estimator.Params{"feature_columns": "age", "hidden_units": 4}, map[string]float64{"training/Adagrad/learning_rate": 0.001}},
		{"dnn_regressor", estimator.Params{"feature_columns": "age,present", "hidden_units": []any{4, 3.0}, "optimizer": "SGD"}, map[string]float64{"training/SGD/learning_rate": 0.01}},
		{"dnn_linear_combined_classifier", estimator.Params{"linear_feature_columns": "trade", "dnn_feature_columns": "age", "dnn_hidden_units": 4},
			map[string]float64{"training/Adagrad/learning_rate": 0.001, "training/Ftrl/learning_rate": 0.005}},
		{"dnn_linear_combined_regressor", estimator.Params{"linear_feature_columns": "trade", "dnn_feature_columns": "age", "dnn_hidden_units": 4, "dnn_optimizer": "SGD", "linear_optimizer": "RMSProp"},
			map[string]float64{"training/SGD/learning_rate": 0.001, "training/RMSprop/learning_rate": 0.005}},
		{"baseline_classifier", nil, map[string]float64{"training/Ftrl/learning_rate": 0.3}},
		{"baseline_estimator", estimator.Params{"head": "poisson"}, map[string]float64{"training/Ftrl/learning_rate": 0.3}},
	} {
		label := "rich"
		if strings.Contains(c.name, "regressor") || c.params["head"] != nil {
			label = "income"
		}
		e := ok(estimator.New(ok(canned.Named(c.name, c.params, trades())), scratch(t)...))
		ok(e.Train(t.Context(), someone.of(label), estimator.Steps(1)))
		for name, want := range c.want {
			got, err := e.VariableValue(name)
			if err != nil || math.Abs(got.Float(0)-want) > 1e-7 {
				t.Errorf("%s %v: %s is %v (%v), expected %v", c.name, c.params, name, values(got), err, want)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func values(x *tensor.Tensor) any {
	if x == nil {
		return nil
	}
	return x.Float(0)
}

// TestNamedLoss: canned models take the losses of their heads.
func TestNamedLoss(t *testing.T) {
	for _, c := range []struct {
		name, label string
		params      estimator.Params
	}{
		{"linear_classifier", "rich", estimator.Params{"feature_columns": "age", "loss": map[string]any{"name": "focal", "gamma": 3}}},
		{"dnn_regressor", "income", estimator.Params{"feature_columns": "age", "hidden_units": 2, "loss": "mean_absolute_error"}},
		{"dcn_estimator", "income", estimator.Params{"feature_columns": "age", "hidden_units": 2, "label_dimension": 1, "loss": map[string]any{"name": "quantile", "quantile": 0.9}}},
		{"baseline_classifier", "rich", estimator.Params{"loss": "hinge"}},
	} {
		var found []float64
		for _, named := range []bool{true, false} {
			if !named {
				delete(c.params, "loss")
			}
			e := ok(estimator.New(ok(canned.Named(c.name, c.params, trades())), scratch(t)...))
			ok(e.Train(t.Context(), someone.of(c.label), estimator.Steps(1)))
			loss, _ := ok(e.Evaluate(t.Context(), someone.of(c.label))).Scalar("average_loss")
			found = append(found, loss)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if math.Abs(found[0]-found[1]) < 1e-6 {
			t.Errorf("%s: average losses %v with another loss and without: expected them to differ", c.name, found)
		}
	}
}

// Errors name the parameter, all of them together.
func TestNamedRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		params estimator.Params
		want   []string
	}{
		{"linear", nil, []string{`unknown model "linear": expected one of baseline_classifier`}},
		{"linear_classifier", nil, []string{"no feature columns"}},
		{"linear_classifier", estimator.Params{"feature_columns": 3, "n_classes": "two", "size": 1, "optimizer": []int{1}},
			[]string{"feature_columns: expected a list of words, got 3", "classes: expected a whole number", "unknown parameter size: known are class_names, class_weights, feature_columns", "optimizer: expected a name, or a map"}},
		{"linear_classifier", estimator.Params{"feature_columns": "height"}, []string{`feature_columns: unknown column "height"`}},
		{"linear_classifier", estimator.Params{"feature_columns": "age", "n_classes": 1}, []string{"n_classes must be > 2"}},
		{"linear_classifier", estimator.Params{"feature_columns": "trade", "sparse_combiner": "max"}, []string{"max"}},
		{"linear_regressor", estimator.Params{"feature_columns": "age", "optimizer": map[string]any{"learning_rate": 1}}, []string{"optimizer.name: expected the name of an optimizer"}},
		{"dnn_classifier", estimator.Params{"feature_columns": "age"}, []string{"hidden_units: expected the units of at least one hidden layer"}},
		{"dnn_classifier", estimator.Params{"feature_columns": "age", "hidden_units": []any{4, "x"}, "batch_norm": "yes", "dropout": "much", "activation_fn": "rely"},
			[]string{"hidden_units: expected a list of whole numbers", "batch_norm: expected true or false, got yes", "dropout: expected a number, got much", `activation_fn: unknown activation "rely"`}},
		{"dnn_classifier", estimator.Params{"feature_columns": "age", "hidden_units": 4, "dropout": 1.0}, []string{"dropout: expected 0 <= dropout < 1, got 1"}},
		{"dnn_linear_combined_classifier", nil, []string{"either linear_feature_columns or dnn_feature_columns must be defined"}},
		{"dnn_linear_combined_classifier", estimator.Params{"dnn_feature_columns": "age"}, []string{"dnn_hidden_units must be defined when dnn_feature_columns is specified"}},
		{"dnn_linear_combined_classifier", estimator.Params{"dnn_feature_columns": "age", "dnn_hidden_units": 2, "linear_feature_columns": "trade", "linear_optimizer": "sgd", "dnn_optimizer": "Adam"},
			[]string{"linear_optimizer and dnn_optimizer: expected equal slot_names"}},
		{"dnn_linear_combined_classifier", estimator.Params{"dnn_feature_columns": "age", "dnn_hidden_units": 2, "linear_feature_columns": "trade",
			"linear_optimizer": map[string]any{"name": "ftrl", "loss_scale": 8}, "dnn_optimizer": map[string]any{"name": "adagrad", "loss_scale": "dynamic"}},
			[]string{"accumulate_steps and loss_scale, as a step has one of each"}},
		{"boosted_trees_classifier", estimator.Params{"feature_columns": "age", "n_batches_per_layer": 1, "loss_scale": 8}, []string{"unknown parameter loss_scale"}},
		{"linear_classifier", estimator.Params{"feature_columns": "age", "optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "loss_scale": 8}},
			[]string{"unknown parameter loss_scale"}},
		{"dnn_linear_combined_classifier", estimator.Params{"dnn_feature_columns": "age", "dnn_hidden_units": []any{4, 0}}, []string{"dnn_hidden_units[1]: expected >= 1, got 0"}},
		{"dnn_linear_combined_classifier", estimator.Params{"dnn_feature_columns": "age", "dnn_hidden_units": 2, "dnn_dropout": 1}, []string{"dnn_dropout: expected 0 <= dropout < 1, got 1"}},
		{"linear_classifier", estimator.Params{"feature_columns": "age", "optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "symmetric_l2_regularization": 0}},
			[]string{"optimizer: symmetric_l2_regularization: expected > 0, got 0"}},
		{"baseline_classifier", estimator.Params{"feature_columns": "age"}, []string{"unknown parameter feature_columns"}},
		{"linear_classifier", estimator.Params{"feature_columns": "age", "loss": "huber"}, []string{`unknown loss "huber" of a binary head: known are focal, hinge`}},
		{"linear_classifier", estimator.Params{"feature_columns": "age", "loss": "focal", "optimizer": map[string]any{"name": "sdca", "example_id_column": "id"}}, []string{"optimizer sdca: a head heads.BinaryClassHead of a loss of its own"}},
		{"linear_regressor", estimator.Params{"feature_columns": "age", "loss": "huber", "optimizer": map[string]any{"name": "sdca", "example_id_column": "id"}}, []string{"optimizer sdca: a head heads.RegressionHead of a loss of its own"}},
		{"boosted_trees_classifier", estimator.Params{"feature_columns": "age", "n_batches_per_layer": 1, "loss": "focal"}, []string{"boosted trees: a head heads.BinaryClassHead of a loss of its own: expected the head's own loss: leave loss out"}},
		{"two_tower", estimator.Params{"feature_columns": "age"}, []string{"n_classes: expected three candidates or more"}},
		{"two_tower", estimator.Params{"feature_columns": "age", "n_classes": 3, "loss": "focal"}, []string{"unknown parameter loss"}},
		{"two_tower", estimator.Params{"feature_columns": "age", "n_classes": 3, "temperature": -1}, []string{"temperature -1: expected numbers above 0"}},
		{"two_tower", estimator.Params{"feature_columns": "age", "n_classes": 3, "hidden_units": []any{4, 0}}, []string{"hidden_units[1]: expected >= 1, got 0"}},
		{"two_tower", estimator.Params{"n_classes": 3}, []string{"no feature columns"}},
		{"dnn_estimator", estimator.Params{"feature_columns": "age", "hidden_units": 2, "head": "logistics"}, []string{`unknown head "logistics"`}},
		{"dnn_estimator", estimator.Params{"feature_columns": "age", "hidden_units": 2, "head": "reconstruction"}, []string{"a head heads.ReconstructionHead of 0 outputs: set label_dimension"}},
		{"baseline_estimator", estimator.Params{"head": "reconstruction"}, []string{"a head heads.ReconstructionHead of 0 outputs: set label_dimension"}},
	} {
		fn, err := canned.Named(c.name, c.params, trades())
		if err == nil || fn != nil {
			t.Errorf("%s %v: got %v, expected an error", c.name, c.params, fn)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %v: got %q, expected %q in it", c.name, c.params, err, want)
			}
		}
	}
	if _, err := canned.Named("linear_classifier", estimator.Params{"feature_columns": "age"}, nil); err == nil || !strings.Contains(err.Error(), "no columns are declared") {
		t.Errorf("without columns: got %v", err)
	}
	if _, err := (canned.LinearEstimator{}).ModelFn(); err == nil || !strings.Contains(err.Error(), "no head") {
		t.Errorf("without a head: got %v", err)
	}
}

// FuzzNamed reads parameters of any form: an error or a model, never a panic.
func FuzzNamed(f *testing.F) {
	for _, text := range []string{"{}", "{feature_columns: [age, trade], n_classes: 3}", "{feature_columns: age, hidden_units: [4, -1], optimizer: {name: Adam, learning_rate: {schedule: cosine}}}",
		"{dnn_feature_columns: [present], dnn_hidden_units: 3, linear_feature_columns: [trade], label_vocabulary: [a, b]}", "{head: multi_label, n_classes: 5, thresholds: [0.5, 2]}"} {
		f.Add(text)
	}
	set := trades()
	f.Fuzz(func(t *testing.T, text string) {
		var params map[string]any
		if yaml.Unmarshal([]byte(text), &params) != nil {
			return
		}
		for _, name := range []string{"linear_classifier", "linear_estimator", "dnn_regressor", "dnn_linear_combined_classifier", "baseline_estimator"} {
			if fn, err := canned.Named(name, params, set); (fn == nil) == (err == nil) {
				t.Fatalf("%s of %q: model %v, error %v: expected one of them", name, text, fn, err)
			}
		}
	})
}
