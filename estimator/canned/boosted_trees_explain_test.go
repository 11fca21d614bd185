package canned_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// ensemble is a trained ensemble as a test reads it, tree by tree.
type ensemble struct {
	feature, left    []int32
	threshold, value []float32
	roots            []int
}

func ensembleOf(t *testing.T, e *estimator.Estimator, trees int) ensemble {
	read := func(name string) *tensor.Tensor { return value(t, e, "boosted_trees/"+name) }
	x := ensemble{feature: tensor.Values[int32](read("feature")), left: tensor.Values[int32](read("left")),
		threshold: tensor.Values[float32](read("threshold")), value: tensor.Values[float32](read("value"))}
	for i := range trees {
		x.roots = append(x.roots, i*len(x.left)/trees)
	}
	return x
}

// explained walks the trees as tf.estimator's BoostedTreesExampleDebugOutputs does.
func (x ensemble) explained(row []float64, link func(float64) float64, features int) (bias float64, dfc []float64) {
	dfc = make([]float64, features)
	bias = link(float64(x.value[0]))
	at, past := bias, 0.0
	for _, n := range x.roots {
		for int(x.left[n]) != n {
			f, next := x.feature[n], int(x.left[n])
			if row[f] >= float64(x.threshold[n]) {
				next++
			}
			n = next
			after := link(past + float64(x.value[n]))
			dfc[min(int(f), features-1)] += after - at
			at = after
		}
		past += float64(x.value[n])
	}
	return bias, dfc
}

// TestBoostedTreesExplanations: bias and contributions agree with the definition, and their sum is the
// prediction.
func TestBoostedTreesExplanations(t *testing.T) {
	testkit.NotConcurrent(t)
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for name, c := range map[string]struct {
		center  bool
		classes int
		prune   string
		key     string
		link    func(float64) float64
	}{
		"classes":               {true, 2, "", "logistic", sigmoid},
		"classes, not centered": {false, 2, "", "logistic", sigmoid},
		"numbers, pruned":       {true, 0, "post", "predictions", func(z float64) float64 { return z }},
	} {
		t.Run(name, func(t *testing.T) {
			o := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 8, MaxDepth: 3, LearningRate: 0.3, CenterBias: c.center,
				PruningMode: c.prune, Explanations: true}
			if c.prune != "" {
				o.TreeComplexity = 0.001
			}
			model := ok(canned.BoostedTreesRegressor{BoostedTreesOptions: o}.ModelFn())
			if c.classes > 0 {
				model = ok(canned.BoostedTreesClassifier{BoostedTreesOptions: o}.ModelFn())
			}
			f := forest{rows: 300, batch: 300, classes: c.classes}
			e, _ := grow(t, t.TempDir(), model, f, runconfig.Strategy{Name: "default"})
			x := ensembleOf(t, e, o.Trees)
			rows := f.table(t)
			i := 0
			for p, err := range e.Predict(t.Context(), estimator.InputFunc(f.input)) {
				if err != nil {
					t.Fatal(err)
				}
				bias, got, err := model.Explain(p)
				if err != nil {
					t.Fatal(err)
				}
				wantBias, want := x.explained(rows[i], c.link, 3)
				sum := bias
				for k, g := range got {
					sum += g.Value
					if k > 0 && math.Abs(g.Value) > math.Abs(got[k-1].Value) {
						t.Fatalf("row %d: %v are not sorted", i, got)
					}
					if w := want[map[string]int{"age": 0, "income_bucketized": 1, "job": 2}[g.Column]]; math.Abs(w-g.Value) > 1e-5 {
						t.Fatalf("row %d: %s contributes %v, expected %v", i, g.Column, g.Value, w)
					}
				}
				if p := p.Get(c.key).Float(0); math.Abs(sum-p) > 1e-5 || math.Abs(bias-wantBias) > 1e-6 {
					t.Fatalf("row %d: bias %v (expected %v), with the contributions %v: expected the prediction %v", i, bias, wantBias, sum, p)
				}
				i++
			}
			if i != f.rows {
				t.Errorf("%d predictions", i)
			}
		})
	}
}

func TestBoostedTreesThatExplainNothing(t *testing.T) {
	o := canned.BoostedTreesOptions{Columns: forestColumns(), Explanations: true}
	if _, err := (canned.BoostedTreesClassifier{BoostedTreesOptions: o, Classes: 3}).ModelFn(); err == nil || !contains(err, "explanations: expected two classes") {
		t.Errorf("three classes: got %v", err)
	}
	model := ok(canned.BoostedTreesEstimator{BoostedTreesOptions: o, Head: heads.Regression(1)}.ModelFn())
	if _, _, err := model.Explain(estimator.Prediction{}); err == nil || !contains(err, "no explanation") {
		t.Errorf("no explanation: got %v", err)
	}
}

// TestBoostedTreesInMemoryOfPartsOfTheData: batches that are not the whole data are an error, not another
// model.
func TestBoostedTreesInMemoryOfPartsOfTheData(t *testing.T) {
	o := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 300, MaxDepth: 1, TrainInMemory: true}
	for batch, want := range map[int]string{50: "", 60: "train_in_memory: this batch of 60 examples has not the same ones", 25: "has not the same ones"} {
		e := ok(estimator.New(ok(canned.BoostedTreesRegressor{BoostedTreesOptions: o}.ModelFn()), scratch(t)...))
		defer e.Close()
		_, err := e.Train(t.Context(), estimator.InputFunc(forest{rows: 50, batch: batch}.input))
		if (want == "") != (err == nil) || err != nil && !contains(err, want) {
			t.Errorf("batches of %d of 50 examples: got %v, expected %q", batch, err, want)
		}
	}
}

// Explanations show why a model of boosted trees predicts what it does (tf.estimator's
// experimental_predict_with_explanations).
func ExampleBoostedTrees_Explain() {
	dir, err := os.MkdirTemp("", "canned-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	data := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("rooms", inputs.Feature, []float32{1, 2, 3, 4}),
			inputs.Slice("noise", inputs.Feature, []float32{5, 5, 5, 5}), inputs.Slice("rent", inputs.Label, []float32{100, 100, 300, 300}))
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(4, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	})
	model, err := canned.BoostedTreesRegressor{BoostedTreesOptions: canned.BoostedTreesOptions{Columns: []feature.Column{&feature.Numeric{Key: "rooms"}, &feature.Numeric{Key: "noise"}},
		Trees: 1, MaxDepth: 1, LearningRate: 1, CenterBias: true, Explanations: true}}.ModelFn()
	if err != nil {
		fmt.Println(err)
		return
	}
	est, err := estimator.New(model, estimator.WithModelDir(dir), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer est.Close()
	if _, err := est.Train(context.Background(), data); err != nil {
		fmt.Println(err)
		return
	}
	for p, err := range est.Predict(context.Background(), data) {
		if err != nil {
			fmt.Println(err)
			return
		}
		bias, why, err := model.Explain(p)
		fmt.Printf("%.0f = %.0f %+.0f by %s, %v\n", p.Get("predictions").Float(0), bias, why[0].Value, why[0].Column, err)
	}
	// Output:
	// 100 = 200 -100 by rooms, <nil>
	// 100 = 200 -100 by rooms, <nil>
	// 300 = 200 +100 by rooms, <nil>
	// 300 = 200 +100 by rooms, <nil>
}
