package estimator_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/tensor"
)

// othersWeights are dense/kernel [2, 1] = -3, -2.5 and dense/bias [1] = -3, and more.
var othersWeights = filepath.Join("..", "models", "weights", "testdata", "kinds.safetensors")

// headModel is toyModel after a normalization, under other names.
func headModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := layers.BatchNorm(mc, features.Dense("x"), layers.Norm{Name: "norm"})
	y := layers.Dense(mc, x, 1, layers.Weights{Name: "head"})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
	if mc.Mode() != models.Predict {
		spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	}
	if mc.Mode() == models.Train {
		spec.TrainOp = optimizers.SGD(0.1).Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// started trains a model only to its first checkpoint and returns the values there.
func started(t *testing.T, fn estimator.ModelFn, opts ...estimator.Option) (func(name string) []float32, error) {
	t.Helper()
	e := custom(t, fn, t.TempDir(), opts...)
	_, err := e.Train(t.Context(), forever(&toyData{}), estimator.Steps(1))
	return func(name string) []float32 {
		r := openCheckpoint(t, e.ModelDir(), "model.ckpt-0")
		v, err := r.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		return tensor.Values[float32](v)
	}, err
}

// TestWarmStartFromOthersWeights: variables, including moving averages, take tensors with other names, types and orders.
func TestWarmStartFromOthersWeights(t *testing.T) {
	value, err := started(t, estimator.ModelFunc(toyModel), estimator.WithWarmStart(estimator.WarmStart{From: othersWeights}))
	if err != nil {
		t.Fatal(err)
	}
	if k, b := value("dense/kernel"), value("dense/bias"); k[0] != -3 || k[1] != -2.5 || b[0] != -3 {
		t.Errorf("by equal names: kernel %v, bias %v", k, b)
	}
	from := custom(t, estimator.ModelFunc(headModel), t.TempDir())
	if _, err := from.Train(t.Context(), forever(&toyData{}), estimator.Steps(3)); err != nil {
		t.Fatal(err)
	}
	want, err := from.VariableValue("norm/moving_mean")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rules []weights.Rule
		mean  float32
	}{
		{nil, 0}, // as in tf.estimator: only trainable variables
		{[]weights.Rule{{Name: "head/bias", Skip: true}}, tensor.Values[float32](want)[0]},
	} {
		value, err := started(t, estimator.ModelFunc(headModel), estimator.WithWarmStart(estimator.WarmStart{From: from.ModelDir(), Map: c.rules}))
		if err != nil {
			t.Fatal(err)
		}
		if got := value("norm/moving_mean")[0]; got != c.mean {
			t.Errorf("%v: moving mean %v, expected %v", c.rules, got, c.mean)
		}
		if got := value("head/bias")[0]; (got == 0) != (c.rules != nil) {
			t.Errorf("%v: bias %v", c.rules, got)
		}
	}
}

// TestWarmStartReports: the error for a variable without a weight lists the nearest names. A partial start keeps its initial value.
func TestWarmStartReports(t *testing.T) {
	head := []weights.Rule{{Name: "head/(.*)", Previous: "dense/$1"}}
	for _, c := range []struct {
		w    estimator.WarmStart
		want []string
	}{
		{estimator.WarmStart{Map: head}, []string{"4 variables found no weight, 2 did", "norm/gamma float32[2]: no tensor norm/gamma; nearest: ", "the file has 14 tensors that no variable takes"}},
		{estimator.WarmStart{Map: []weights.Rule{{Name: "norm/.*", Skip: true}, {Name: "head/kernel", Previous: "of/float32"}}, Partial: true}, []string{"variable head/kernel: expected float32[2 1], got float32[2 3 5]"}},
		{estimator.WarmStart{Map: append(head, weights.Rule{Name: "nothing"}), Partial: true}, []string{"map[1]: no variable has a name that is nothing"}},
		{estimator.WarmStart{Map: []weights.Rule{{Name: ".*", Skip: true}}}, []string{"no variable to take"}},
		{estimator.WarmStart{Map: []weights.Rule{{Name: "norm/.*", Previous: "dense/bias"}}, Partial: true, Previous: map[string]string{"x": "y"}}, []string{"1 of the 1 variables named in Previous"}},
	} {
		c.w.From = othersWeights
		_, err := started(t, estimator.ModelFunc(headModel), estimator.WithWarmStart(c.w))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: got %v, expected %q", c.w, err, want)
			}
		}
	}
	value, err := started(t, estimator.ModelFunc(headModel), estimator.WithWarmStart(estimator.WarmStart{From: othersWeights, Map: head, Partial: true}))
	if err != nil {
		t.Fatal(err)
	}
	if k, g := value("head/kernel"), value("norm/gamma"); k[0] != -3 || g[0] != 1 {
		t.Errorf("a partial start: kernel %v, gamma %v", k, g)
	}
	for _, w := range []estimator.WarmStart{{}, {From: "x", Vars: "("}, {From: "x", Map: []weights.Rule{{}}}} {
		if _, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithWarmStart(w)); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}
