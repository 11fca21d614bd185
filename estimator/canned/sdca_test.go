package canned_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// sdcaGolden is what testdata/sdca.py recorded.
type sdcaGolden struct {
	X      [][]float32
	Word   []string
	Weight []float32
	Class  []int64
	Number []float32
	Cases  []sdcaCase
}

type sdcaCase struct {
	Label     string
	L1, L2    float64
	Variables map[string][]float64
}

func readSDCAGolden(t *testing.T) (g sdcaGolden) {
	t.Helper()
	b, err := os.ReadFile("testdata/sdca.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// input is the data in batches of 20, for each epoch in the same order.
func (g sdcaGolden) input(label string) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		var x []float32
		var ids []string
		for i, row := range g.X {
			x = append(x, row...)
			ids = append(ids, fmt.Sprintf("example %d", i))
		}
		y := inputs.Slice("y", inputs.Label, g.Class)
		if label == "number" {
			y = inputs.Slice("y", inputs.Label, g.Number)
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 3), inputs.Strings("word", inputs.Feature, g.Word),
			inputs.Slice("weight", inputs.Feature, g.Weight), inputs.Strings("id", inputs.Feature, ids), y)
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(20, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(20/max(ic.ReplicasInSync, 1), false)), nil
	})
}

func (g sdcaGolden) columns() []feature.Column {
	return []feature.Column{&feature.Numeric{Key: "x", Shape: []int{3}}, &feature.Vocabulary{Key: "word", Values: []string{"a", "b", "c", "d"}}}
}

func (g sdcaGolden) model(t *testing.T, label string, o canned.LinearSDCA) estimator.ModelFn {
	t.Helper()
	o.ExampleIDColumn = "id"
	if label == "number" {
		return made(t, canned.LinearRegressor{Columns: g.columns(), WeightColumn: "weight", SDCA: &o}.ModelFn)
	}
	return made(t, canned.LinearClassifier{Columns: g.columns(), WeightColumn: "weight", SDCA: &o}.ModelFn)
}

// sdcaWeights are the weights of x and of the words, and the bias.
func sdcaWeights(t *testing.T, e *estimator.Estimator) []float64 {
	t.Helper()
	var w []float64
	for _, name := range []string{"x/weights", "word/weights", "bias_weights"} {
		v := value(t, e, "linear/linear_model/"+name)
		for i := range v.Len() {
			w = append(w, v.Float(i))
		}
	}
	return w
}

// slope returns the gradient of the losses and the quadratic regularisation, in double precision, and the objective.
func (g sdcaGolden) slope(c sdcaCase, w []float64) (gradient []float64, objective float64) {
	gradient = make([]float64, len(w))
	for j, v := range w {
		gradient[j] = c.L2 * v
		objective += c.L2/2*v*v + c.L1*math.Abs(v)
	}
	for i := range g.X {
		row := make([]float64, len(w))
		for j, v := range g.X[i] {
			row[j] = float64(v)
		}
		row[3+strings.Index("abcd", g.Word[i])], row[7] = 1, 1
		wx := 0.0
		for j, v := range row {
			wx += v * w[j]
		}
		var d, loss float64
		if c.Label == "number" {
			d = wx - float64(g.Number[i])
			loss = d * d / 2
		} else {
			y := float64(2*g.Class[i] - 1)
			d, loss = -y/(1+math.Exp(y*wx)), math.Log1p(math.Exp(-y*wx))
		}
		objective += float64(g.Weight[i]) * loss
		for j, v := range row {
			gradient[j] += float64(g.Weight[i]) * d * v
		}
	}
	return gradient, objective
}

// distance returns how far weights are from satisfying the conditions of the optimum, for
// examples whose weights sum to 100.
func (g sdcaGolden) distance(c sdcaCase, w []float64) float64 {
	gradient, _ := g.slope(c, w)
	worst := 0.0
	for j, d := range gradient {
		if w[j] != 0 {
			worst = max(worst, math.Abs(d+math.Copysign(c.L1, w[j])))
		} else {
			worst = max(worst, math.Abs(d)-c.L1)
		}
	}
	return worst
}

// TestSDCAFindsTheOptimum: SDCA finds the optimum of the regularised problem, as TensorFlow
// does, under several strategies, and adaptively.
func TestSDCAFindsTheOptimum(t *testing.T) {
	if testing.Short() {
		t.Skip("trains to the optimum: too long under the race detector")
	}
	g := readSDCAGolden(t)
	for _, c := range g.Cases {
		for _, s := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 2}} {
			for _, adaptive := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, l1 %g, %s, adaptive %v", c.Label, c.L1, s.Name, adaptive), func(t *testing.T) {
					e := newTestEstimator(t, g.model(t, c.Label, canned.LinearSDCA{SymmetricL1: c.L1, SymmetricL2: c.L2, Adaptive: adaptive, Examples: 100}), runconfig.TrainDistribute(s))
					train(t, e, g.input(c.Label), 800)
					w := sdcaWeights(t, e)
					if d := g.distance(c, w); d > 0.05 {
						t.Errorf("the conditions of the optimum are missed by %g at %v", d, w)
					}
					if adaptive {
						return
					}
					for name, want := range c.Variables {
						v := value(t, e, name)
						for i, x := range want {
							if math.Abs(v.Float(i)-x) > 4e-3 {
								t.Errorf("%s[%d] is %v, TensorFlow has %v", name, i, v.Float(i), x)
							}
						}
					}
				})
			}
		}
	}
}

// TestSDCADualityGap: the gap computed from the examples' states falls from pass to pass and bounds the
// objective's distance to the optimum.
func TestSDCADualityGap(t *testing.T) {
	testkit.NotConcurrent(t)
	g := readSDCAGolden(t)
	for _, c := range g.Cases {
		var best []float64
		for _, name := range []string{"x/weights", "word/weights", "bias_weights"} {
			best = append(best, c.Variables["linear/linear_model/"+name]...)
		}
		_, least := g.slope(c, best)
		e := newTestEstimator(t, g.model(t, c.Label, canned.LinearSDCA{SymmetricL1: c.L1, SymmetricL2: c.L2, Examples: 100}))
		first, last := 0.0, 0.0
		for _, pass := range []int64{1, 3, 12} {
			train(t, e, g.input(c.Label), 4*pass)
			w := sdcaWeights(t, e)
			// The dual objective at the current dual variables, from the table.
			ids, state := tensor.Values[int64](value(t, e, "sdca/example_ids")), tensor.Values[float32](value(t, e, "sdca/example_state"))
			seen := 0
			for _, id := range ids {
				if id != 0 {
					seen++
				}
			}
			if seen != len(g.X) {
				t.Fatalf("%d examples are known, expected %d", seen, len(g.X))
			}
			dual := 0.0
			for i := range g.X {
				k := 0
				for ids[k] != int64(feature.Fingerprint64(fmt.Appendf(nil, "example %d", i))) {
					k++
				}
				a := float64(state[4*k])
				if c.Label == "number" {
					dual -= float64(g.Weight[i]) * a * (a/2 - float64(g.Number[i]))
				} else {
					p := a * float64(2*g.Class[i]-1)
					dual -= float64(g.Weight[i]) * (p*math.Log(p) + (1-p)*math.Log1p(-p))
				}
			}
			for _, v := range w {
				dual -= c.L2 / 2 * v * v
			}
			_, primal := g.slope(c, w)
			gap := primal - dual
			if pass == 1 {
				first = gap
			}
			last = gap
			if gap < -1e-3*(1+least) || primal < least-1e-3*(1+least) || dual > least+1e-3*(1+least) {
				t.Errorf("%s, pass %d: primal %v, dual %v, optimum %v", c.Label, pass, primal, dual, least)
			}
		}
		if !(last < first/5) {
			t.Errorf("%s, l1 %g: the duality gap was %v after one pass and is %v after 12", c.Label, c.L1, first, last)
		}
		t.Logf("%s, l1 %g: duality gap %.3g after one pass, %.3g after 12", c.Label, c.L1, first, last)
	}
}

// TestSDCAResumes: training in pieces is bit-identical to training in one go.
func TestSDCAResumes(t *testing.T) {
	g := readSDCAGolden(t)
	whole := newTestEstimator(t, g.model(t, "class", canned.LinearSDCA{Examples: 100}))
	train(t, whole, g.input("class"), 23)
	dir := t.TempDir()
	for _, to := range []int64{5, 14, 23} {
		e := newTestEstimator(t, g.model(t, "class", canned.LinearSDCA{Examples: 100}), runconfig.ModelDir(dir))
		train(t, e, g.input("class"), to)
		if to < 23 {
			continue
		}
		names, err := e.VariableNames()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if got, want := value(t, e, name), value(t, whole, name); string(got.Bytes) != string(want.Bytes) {
				t.Errorf("%s differs", name)
			}
		}
		res, err := e.Evaluate(context.Background(), g.input("class"))
		if accuracy, _ := res.Scalar("accuracy"); err != nil || accuracy < 0.9 {
			t.Errorf("accuracy %v, %v", accuracy, err)
		}
	}
}

// TestWrongSDCA: errors name the cause.
func TestWrongSDCA(t *testing.T) {
	g := readSDCAGolden(t)
	columns := g.columns()
	for want, fn := range map[string]func() (*canned.Model, error){
		"example_id_column":           canned.LinearRegressor{Columns: columns, SDCA: &canned.LinearSDCA{}}.ModelFn,
		"symmetric_l2_regularization": canned.LinearRegressor{Columns: columns, SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", SymmetricL2: -1}}.ModelFn,
		"symmetric_l1_regularization": canned.LinearRegressor{Columns: columns, SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", SymmetricL1: math.Inf(1)}}.ModelFn,
		"two classes":                 canned.LinearClassifier{Columns: columns, Classes: 3, SDCA: &canned.LinearSDCA{ExampleIDColumn: "id"}}.ModelFn,
		"sparse_combiner":             canned.LinearClassifier{Columns: columns, SparseCombiner: feature.Mean, SDCA: &canned.LinearSDCA{ExampleIDColumn: "id"}}.ModelFn,
	} {
		if _, err := fn(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
	e := newTestEstimator(t, g.model(t, "class", canned.LinearSDCA{Examples: 10}))
	_, err := e.Train(context.Background(), g.input("class"), estimator.MaxSteps(8))
	if err == nil || !strings.Contains(err.Error(), "more than 10 different examples: raise num_examples") {
		t.Errorf("got %v, expected that there is no room for so many examples", err)
	}
	bad := g
	bad.X = append([][]float32{{1, 2, float32(math.NaN())}}, g.X[1:]...)
	e = newTestEstimator(t, bad.model(t, "number", canned.LinearSDCA{}))
	if _, err = e.Train(context.Background(), bad.input("number"), estimator.MaxSteps(2)); err == nil {
		t.Error("a feature that is no number was taken")
	}
}

// TestSDCANamed: the optimizer of a config file.
func TestSDCANamed(t *testing.T) {
	g := readSDCAGolden(t)
	set, err := feature.Build([]feature.Spec{{Name: "x", Type: "numeric", Key: "x", Shape: []int{3}}, {Name: "word", Type: "vocabulary", Key: "word", Vocabulary: []string{"a", "b", "c", "d"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := g.Cases[1]
	fn, err := canned.Named("linear_classifier", estimator.Params{"weight_column": "weight", "feature_columns": []string{"x", "word"},
		"optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "symmetric_l1_regularization": c.L1, "symmetric_l2_regularization": c.L2, "num_examples": 100}}, set)
	if err != nil {
		t.Fatal(err)
	}
	e := newTestEstimator(t, fn)
	train(t, e, g.input("class"), 200)
	if d := g.distance(c, sdcaWeights(t, e)); d > 0.05 {
		t.Errorf("the conditions of the optimum are missed by %g", d)
	}
	for want, params := range map[string]estimator.Params{
		"example_id_column":              {"optimizer": "sdca"},
		"unknown parameter rate":         {"optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "rate": 3}},
		"adaptive: expected true or":     {"optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "adaptive": 3}},
		"num_loss_partitions: expected ": {"optimizer": map[string]any{"name": "sdca", "example_id_column": "id", "num_loss_partitions": -3}},
	} {
		if _, err := canned.Named("linear_classifier", params, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %s", params, err, want)
		}
	}
}
