package metricgraph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/estimator/internal/metricgraph"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// operands are the arguments of Update for a kind of metric.
type operands func(r *rand.Rand, n int) []*tensor.Tensor

func tensorOf[T tensor.Element](v []T, shape ...int) *tensor.Tensor {
	t, err := tensor.FromSlice(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(101)) / 100 // so that some are on thresholds
	}
	return v
}

func classes(r *rand.Rand, n, of int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = r.Int64N(int64(of))
	}
	return v
}

func binary(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(classes(r, n, 2), n), tensorOf(random(r, n), n, 1)}
}

func ids(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(classes(r, n, 4), n), tensorOf(classes(r, n, 4), n)}
}

func scored(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(classes(r, n, 4), n, 1), tensorOf(random(r, n*4), n, 4)}
}

func values(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(random(r, n*3), n, 3)}
}

func numbers(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(random(r, n*2), n, 2), tensorOf(random(r, n*2), n, 2)}
}

func indicators(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(classes(r, n*3, 2), n, 3), tensorOf(random(r, n*3), n, 3)}
}

func labels(r *rand.Rand, n int) []*tensor.Tensor {
	return []*tensor.Tensor{tensorOf(classes(r, n, 2), n)}
}

// exportedKinds are all kinds with their operands and parameters.
var exportedKinds = map[string]struct {
	args   operands
	params []metrics.Param
}{
	"accuracy": {args: ids}, "accuracy_baseline": {args: labels}, "mean": {args: values}, "min": {args: values}, "max": {args: values},
	"mse": {args: numbers}, "mean_squared_error": {args: numbers}, "rmse": {args: numbers}, "root_mean_squared_error": {args: numbers},
	"mae": {args: numbers}, "mean_absolute_error": {args: numbers}, "log_loss": {args: binary},
	"sparse_categorical_crossentropy": {args: scored}, "binary_accuracy": {args: binary, params: []metrics.Param{metrics.WithThresholds(0.3)}},
	"precision": {args: binary}, "precision_at_thresholds": {args: binary, params: []metrics.Param{metrics.WithThresholds(0.7, 0.1, 0.5)}},
	"recall": {args: binary}, "recall_at_thresholds": {args: binary, params: []metrics.Param{metrics.WithThresholds(0.25, 0.2)}},
	"sensitivity": {args: binary}, "specificity": {args: binary}, "true_positives": {args: binary}, "false_positives": {args: binary},
	"true_negatives": {args: binary}, "false_negatives": {args: binary},
	"sensitivity_at_specificity": {args: binary, params: []metrics.Param{metrics.WithBound(0.6)}},
	"specificity_at_sensitivity": {args: binary, params: []metrics.Param{metrics.WithBound(0.6)}},
	"precision_at_recall":        {args: binary, params: []metrics.Param{metrics.WithBound(0.4), metrics.WithNumThresholds(30)}},
	"recall_at_precision":        {args: binary, params: []metrics.Param{metrics.WithBound(0.5)}},
	"auc":                        {args: binary}, "auc_precision_recall": {args: binary},
	"top_k": {args: scored, params: []metrics.Param{metrics.WithK(2)}}, "confusion_matrix": {args: ids, params: []metrics.Param{metrics.WithClasses(4)}},
	"mean_iou": {args: ids, params: []metrics.Param{metrics.WithClasses(4)}},
	"mape":     {args: numbers}, "mean_absolute_percentage_error": {args: numbers}, "cosine_similarity": {args: numbers},
	"r2": {args: numbers, params: []metrics.Param{metrics.WithOutputs(2)}}, "perplexity": {args: scored},
	"f1":              {args: binary, params: []metrics.Param{metrics.WithThresholds(0.7, 0.1, 0.5)}},
	"f1_macro":        {args: ids, params: []metrics.Param{metrics.WithClasses(5)}},
	"f1_micro":        {args: indicators, params: []metrics.Param{metrics.WithClasses(3), metrics.WithThresholds(0.4)}},
	"f1_weighted":     {args: ids, params: []metrics.Param{metrics.WithClasses(4)}},
	"f1_per_class":    {args: indicators, params: []metrics.Param{metrics.WithClasses(3), metrics.WithThresholds(0.4)}},
	"fbeta":           {args: binary, params: []metrics.Param{metrics.WithBeta(2), metrics.WithThresholds(0.7, 0.1, 0.5)}},
	"fbeta_macro":     {args: ids, params: []metrics.Param{metrics.WithClasses(5), metrics.WithBeta(0.5)}},
	"fbeta_micro":     {args: indicators, params: []metrics.Param{metrics.WithClasses(3), metrics.WithThresholds(0.4), metrics.WithBeta(3)}},
	"fbeta_weighted":  {args: ids, params: []metrics.Param{metrics.WithClasses(4), metrics.WithBeta(2)}},
	"fbeta_per_class": {args: indicators, params: []metrics.Param{metrics.WithClasses(3), metrics.WithThresholds(0.4), metrics.WithBeta(2)}},
	"iou":             {args: ids, params: []metrics.Param{metrics.WithClasses(5), metrics.WithTargets(4, 1)}},
	"iou_per_class":   {args: ids, params: []metrics.Param{metrics.WithClasses(5)}},
	"binary_iou":      {args: binary, params: []metrics.Param{metrics.WithThresholds(0.3)}},
}

// emittedMetric runs the nodes of a metric one by one.
type emittedMetric struct {
	t   *testing.T
	g   *graph.Graph
	m   metricgraph.Emitted
	in  []graph.Output
	env *eager.Env
}

func emitted(t *testing.T, acc metrics.Accumulator, like []*tensor.Tensor) *emittedMetric {
	t.Helper()
	e := &emittedMetric{t: t, g: graph.New(), env: &eager.Env{Resources: eager.NewResources()}}
	b := graph.NewBuilder(e.g)
	for i, a := range like {
		e.in = append(e.in, b.Placeholder(fmt.Sprintf("arg%d", i), graph.Type{DType: a.DType, Shape: graph.BatchOf(a.Shape[1:]...)}))
	}
	var err error
	if e.m, err = metricgraph.Emit(b, "metrics/it/", acc, e.in...); err != nil {
		t.Fatal(err)
	}
	h := e.one(e.g.Node(e.m.Variable), nil)
	e.one(&graph.Node{Name: "init", Op: "AssignVariableOp", Attrs: graph.Attrs{"dtype": tensor.Float64}}, append(h, eager.Value{T: e.m.First}))
	return e
}

func (e *emittedMetric) one(n *graph.Node, in []eager.Value) []eager.Value {
	e.t.Helper()
	out, err := eager.Run(context.Background(), n, in, e.env)
	if err != nil {
		e.t.Fatalf("node %s (%s): %v", n.Name, n.Op, err)
	}
	return out
}

// run computes an output.
func (e *emittedMetric) run(out graph.Output, args []*tensor.Tensor) *tensor.Tensor {
	known := map[*graph.Node][]eager.Value{}
	for i, p := range e.in {
		if i < len(args) {
			known[p.Node] = []eager.Value{{T: args[i]}}
		}
	}
	needed := graph.Reachable(out.Node)
	for _, n := range e.g.Nodes() {
		if !needed[n] || known[n] != nil {
			continue
		}
		var in []eager.Value
		for _, i := range n.Inputs {
			in = append(in, known[i.Node][i.Index])
		}
		if known[n] = e.one(n, in); known[n] == nil {
			known[n] = []eager.Value{}
		}
	}
	return known[out.Node][out.Index].T
}

func closeTo(got *tensor.Tensor, want metrics.Value) bool {
	if got.DType != tensor.Float32 || got.Len() != len(want.Data) || len(got.Shape) != len(want.Shape) {
		return false
	}
	for i, w := range want.Data {
		g := got.Float(i)
		if !(math.Abs(g-w) <= 1e-6*max(1, math.Abs(w)) || math.IsNaN(g) && math.IsNaN(w) || g == w) {
			return false
		}
	}
	return true
}

// TestEmit: the nodes of every kind give the same as its accumulator, batch by batch, with weights of several shapes and without.
func TestEmit(t *testing.T) {
	for _, name := range metrics.Names() {
		if name == "bleu" { // n-grams have no operations
			continue
		}
		c, ok := exportedKinds[name]
		if !ok {
			t.Errorf("%s is not tested", name)
			continue
		}
		for _, weighted := range []string{"", "examples", "column"} {
			t.Run(name+"/"+weighted, func(t *testing.T) { checkEmit(t, name, c.args, weighted, c.params) })
		}
	}
	for _, name := range []string{"sparse_categorical_crossentropy", "perplexity"} {
		t.Run(name+" of logits", func(t *testing.T) {
			checkEmit(t, name, scored, "", []metrics.Param{metrics.WithLogits(true)})
		})
	}
	for _, curve := range []string{"auc", "auc_precision_recall"} {
		for _, s := range []metrics.Summation{metrics.Trapezoidal, metrics.CarefulInterpolation, metrics.Minoring, metrics.Majoring} {
			t.Run(curve+"/"+string(s), func(t *testing.T) { checkEmit(t, curve, binary, "examples", []metrics.Param{metrics.WithSummation(s)}) })
		}
	}
}

// TestEmitFormula: a formula's nodes give the same as its accumulator.
func TestEmitFormula(t *testing.T) {
	acc, err := metrics.NewFormula("unexplained", func(y, p expr.Expr) []expr.Expr {
		return []expr.Expr{expr.Number(1), y, y.Square(), y.Sub(p).Square(), expr.WhenLess(y, p, p, y.Neg())}
	}, func(s []expr.Expr) expr.Expr { return s[3].Div(s[2].Sub(s[1].Square().Div(s[0]))).Add(s[4].Div(s[0])) })
	if err != nil {
		t.Fatal(err)
	}
	for _, weighted := range []string{"", "examples", "column"} {
		acc.Reset()
		t.Run(weighted, func(t *testing.T) { compareEmit(t, acc, numbers, weighted) })
	}
}

func checkEmit(t *testing.T, name string, args operands, weighted string, params []metrics.Param) {
	t.Helper()
	acc, err := metrics.New(name, params...)
	if err != nil {
		t.Fatal(err)
	}
	compareEmit(t, acc, args, weighted)
}

// compareEmit updates an accumulator and its nodes with the same batches.
func compareEmit(t *testing.T, acc metrics.Accumulator, args operands, weighted string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	batch := func(n int) []*tensor.Tensor {
		a := args(r, n)
		switch weighted {
		case "examples":
			a = append(a, tensorOf(classes(r, n, 3), n))
		case "column":
			a = append(a, tensorOf(random(r, n), n, 1))
		}
		return a
	}
	e := emitted(t, acc, batch(2))
	if got := e.run(e.m.Value, nil); !closeTo(got, acc.Result()) {
		t.Errorf("of nothing: %v, expected %v", got, acc.Result())
	}
	for _, n := range []int{7, 0, 1, 12} {
		a := batch(n)
		if err := acc.Update(a...); err != nil {
			t.Fatal(err)
		}
		if got := e.run(e.m.Update, a); !closeTo(got, acc.Result()) {
			t.Errorf("update: %v, expected %v", got, acc.Result())
		}
		if got := e.run(e.m.Value, nil); !closeTo(got, acc.Result()) {
			t.Errorf("value: %v, expected %v", got, acc.Result())
		}
	}
}

// TestEmitNaN: a NaN stays in a minimum.
func TestEmitNaN(t *testing.T) {
	for _, name := range []string{"min", "max"} {
		acc, _ := metrics.New(name)
		nan := float32(math.NaN())
		a, b := tensorOf([]float32{1, nan, 2}, 3), tensorOf([]float32{-5, 5}, 2)
		e := emitted(t, acc, []*tensor.Tensor{a})
		e.run(e.m.Update, []*tensor.Tensor{a})
		if got := e.run(e.m.Update, []*tensor.Tensor{b}); !math.IsNaN(got.Float(0)) {
			t.Errorf("%s is %v, expected NaN", name, got.Float(0))
		}
	}
}

// strange is a metric of another package.
type strange struct{ metrics.Accumulator }

// TestEmitRefuses: errors name a metric without a graph, and operands that do not fit.
func TestEmitRefuses(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()})
	if _, err := metricgraph.Emit(b, "m/", strange{}, x); !errors.Is(err, metricgraph.ErrNone) {
		t.Errorf("somebody else's metric: %v", err)
	}
	for name, args := range map[string][]graph.Output{"accuracy": {x}, "auc": nil, "sparse_categorical_crossentropy": {x, x}, "mean": {x, {}}} {
		acc, err := metrics.New(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := metricgraph.Emit(graph.NewBuilder(graph.New()), "m/", acc, args...); err == nil {
			t.Errorf("%s of %d operands that do not fit: expected an error", name, len(args))
		}
	}
}
