package canned_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models/optimizers"
)

// maker is an options struct of the package.
type maker interface {
	New(opts ...estimator.Option) (*estimator.Estimator, error)
}

// optimized are functions that make models with an optimizer in their options; nil: none.
func optimized(o *optimizers.Optimizer) map[string]maker {
	deep, wide := []feature.Column{age(), &feature.Indicator{Of: trade()}}, []feature.Column{trade(), age()}
	return map[string]maker{
		"linear":   canned.LinearClassifier{Columns: wide, Optimizer: o},
		"dnn":      canned.DNNClassifier{Columns: deep, HiddenUnits: []int{4}, Optimizer: o},
		"combined": canned.DNNLinearCombinedClassifier{Linear: wide, DNN: deep, HiddenUnits: []int{4}, LinearOptimizer: o, DNNOptimizer: o},
		"baseline": canned.BaselineClassifier{Optimizer: o},
		"rnn":      canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Units: []int{3}, Optimizer: o},
	}
}

func dataOf(model string) estimator.InputFn {
	if model == "rnn" {
		return bits(16, 4).inputFn(4)
	}
	return someone.of("rich")
}

// trained returns the variables after some steps, by name.
func trained(t *testing.T, model string, m maker, opts ...estimator.Option) map[string][]byte {
	t.Helper()
	e := ok(m.New(scratch(t, opts...)...))
	defer e.Close()
	ok(e.Train(t.Context(), dataOf(model), estimator.Steps(5)))
	out := map[string][]byte{}
	for _, name := range ok(e.VariableNames()) {
		out[name] = ok(e.VariableValue(name)).Bytes
	}
	return out
}

// TestWithOptimizer: the Estimator's optimizer trains a canned model as an optimizer in its options does.
func TestWithOptimizer(t *testing.T) {
	testkit.NotConcurrent(t)
	o := optimizers.Adam(0.1)
	with := optimized(o)
	for name, m := range optimized(nil) {
		t.Run(name, func(t *testing.T) {
			want, got := trained(t, name, with[name]), trained(t, name, m, estimator.WithOptimizer(o))
			if len(got) != len(want) || len(want) < 4 {
				t.Errorf("%d variables, expected the %d of the optimizer in the options", len(got), len(want))
			}
			for v, b := range want {
				if !bytes.Equal(got[v], b) {
					t.Errorf("variable %s differs", v)
				}
			}
			own, def := trained(t, name, m), trained(t, name, m, estimator.WithDefaultOptimizer(o))
			for v, b := range own {
				if !bytes.Equal(def[v], b) {
					t.Errorf("WithDefaultOptimizer replaced the model's default: variable %s differs", v)
				}
			}
			e := ok(with[name].New(scratch(t, estimator.WithOptimizer(o))...))
			defer e.Close()
			if _, err := e.Train(t.Context(), dataOf(name), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "leave WithOptimizer out") {
				t.Errorf("two optimizers: got %v, expected an error", err)
			}
		})
	}
}

// TestWithOptimizerRefused: models that no optimizer trains refuse one.
func TestWithOptimizerRefused(t *testing.T) {
	sdca := &canned.LinearSDCA{ExampleIDColumn: "trade"}
	for name, m := range map[string]maker{
		"boosted trees":           canned.BoostedTreesClassifier{BoostedTreesOptions: canned.BoostedTreesOptions{Columns: []feature.Column{age()}, BatchesPerLayer: 1}},
		"linear models with SDCA": canned.LinearClassifier{Columns: []feature.Column{age()}, SDCA: sdca},
		"K-means":                 canned.KMeans{NumClusters: 2, Columns: []feature.Column{age()}},
	} {
		e := ok(m.New(scratch(t, estimator.WithOptimizer(optimizers.SGD(0.1)))...))
		_, err := e.Train(t.Context(), someone.of("rich"), estimator.Steps(1))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "leave WithOptimizer out") {
			t.Errorf("%s: got %v, expected an error that says so", name, err)
		}
		e.Close()
	}
}
