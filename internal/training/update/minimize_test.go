package update

import (
	"bytes"
	"context"
	"errors"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

func sgd(rate float64) *optimizers.Optimizer {
	return &optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(rate)}
}

// regression is y = x·w + b with the mean squared error.
func regression(b *models.Builder) *G.Node {
	x, y := b.Input("x", tensor.Float64, b.Batch(), 2), b.Input("y", tensor.Float64, b.Batch(), 1)
	w := b.Variable("w", []int{2, 1}, models.WithInit(initializers.Zeros()))
	bias := b.Variable("b", []int{1}, models.WithInit(initializers.Zeros()))
	return ops.Mean(b, ops.Square(b, ops.Sub(b, ops.BiasAdd(b, ops.MatMul(b, x, w), bias), y)))
}

func build(fn func(b *models.Builder) error) (*models.Builder, error) {
	return models.Build(models.Options{Mode: models.Train, Batch: 4, DType: tensor.Float64}, fn)
}

// train lowers the result of Minimize and runs steps on one batch. It returns the variables' values.
func train(t *testing.T, b *models.Builder, op *optimizers.TrainOp, steps int, feeds ...*tensor.Tensor) map[string]*tensor.Tensor {
	t.Helper()
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	must(t, err)
	gb := graph.NewBuilder(graph.New())
	leaves := map[*G.Node]graph.Output{}
	spec := engine.Spec{}
	for _, in := range b.Inputs() {
		leaves[in.Node] = gb.Placeholder(in.Name, graph.Type{DType: in.DType, Shape: graph.ShapeOf(in.Node.Shape()...)})
		spec.Feeds = append(spec.Feeds, leaves[in.Node])
	}
	for _, v := range b.Variables() {
		leaves[v.Node] = gb.Read(gb.Variable(v.Name, graph.TypeOf(v.DType, v.Shape...)), graph.TypeOf(v.DType, v.Shape...))
		x := tensor.New(v.DType, v.Shape...)
		must(t, v.Init.Init(x, models.Key(1, v.Name)))
		must(t, vars.Create(v.Name, x))
	}
	for _, s := range Slots(op) {
		x := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		must(t, s.Init.Init(x, 0))
		must(t, vars.Create(s.Name, x))
	}
	var roots []*G.Node
	for _, g := range op.Groups {
		roots = append(roots, g.Gradients...)
	}
	grads, err := lower.Expressions(gb, lower.Options{}, roots, leaves)
	must(t, err)
	step := gb.Scalar("step", tensor.Int64, 0)
	applied, err := Emit(op, gb, Env{GlobalStep: step, Gradients: grads})
	must(t, err)
	spec.Targets = applied.Targets
	p, err := engine.Compile(gb.Graph, spec, dev, vars, engine.Options{})
	must(t, err)
	defer p.Close()
	for range steps {
		must(t, p.Run(context.Background(), 4, feeds))
	}
	all, err := vars.Snapshot()
	must(t, err)
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMinimizeTrains(t *testing.T) {
	var op *optimizers.TrainOp
	b, err := build(func(b *models.Builder) error {
		op = mustNew(t, "momentum", map[string]any{"learning_rate": 0.05}).Minimize(b, regression(b))
		return nil
	})
	must(t, err)
	// y = 2 x0 - x1 + 0.5
	x, y := matrix([]float64{0, 0, 1, 0, 0, 1, 1, 1}, 4, 2), matrix([]float64{0.5, 2.5, -0.5, 1.5}, 4, 1)
	vars := train(t, b, op, 1000, x, y)
	near(t, "w", tensor.Values[float64](vars["w"]), []float64{2, -1}, 1e-6)
	near(t, "b", tensor.Values[float64](vars["b"]), []float64{0.5}, 1e-6)
}

// TestMinimizeTable trains an embedding with sparse gradients from two lookups.
func TestMinimizeTable(t *testing.T) {
	for _, name := range []string{"sgd", "adam", "adagrad"} {
		var op *optimizers.TrainOp
		b, err := build(func(b *models.Builder) error {
			ids, other := b.Input("ids", tensor.Int64, b.Batch()), b.Input("other", tensor.Int64, b.Batch())
			table := b.Variable("table", []int{6, 1}, models.WithInit(initializers.Ones()))
			sum := ops.Add(b, ops.Gather(b, table, ids), ops.Gather(b, table, other))
			op = mustNew(t, name, map[string]any{"learning_rate": 0.1}).Minimize(b, ops.Mean(b, ops.Square(b, sum)))
			return nil
		})
		must(t, err)
		ids, _ := tensor.FromSlice([]int64{0, 0, 2, 5}, 4)
		other, _ := tensor.FromSlice([]int64{0, 2, 2, 3}, 4)
		got := tensor.Values[float64](train(t, b, op, 300, ids, other)["table"])
		for i, v := range got {
			if touched := i != 1 && i != 4; touched != (v < 0.1) {
				t.Errorf("%s: row %d is %g", name, i, v)
			}
		}
	}
}

func TestMinimizeLeavesOutUnreached(t *testing.T) {
	var op *optimizers.TrainOp
	b, err := build(func(b *models.Builder) error {
		loss := regression(b)
		b.Variable("unused", []int{3})
		b.Variable("frozen", []int{3}, models.NonTrainable())
		stopped := b.Variable("stopped", []int{1})
		op = sgd(1).Minimize(b, ops.Add(b, loss, ops.Sum(b, ops.StopGradient(b, stopped))))
		return nil
	})
	must(t, err)
	if d := cmp.Diff("w b", variableNames(op.Groups[0])); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"unused", "stopped"}, op.Unreached); d != "" {
		t.Error(d)
	}
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	train(t, b, op, 0, matrix(make([]float64, 8), 4, 2), matrix(make([]float64, 4), 4, 1))
	for _, name := range []string{"unused", "stopped"} {
		if strings.Count(log.String(), "variable="+name) != 1 {
			t.Errorf("expected one warning of %s in %s", name, log.String())
		}
	}
}

func variableNames(g optimizers.Group) string {
	var out []string
	for _, v := range g.Variables {
		out = append(out, v.Name)
	}
	return strings.Join(out, " ")
}

func TestMinimizeGroups(t *testing.T) {
	var op *optimizers.TrainOp
	b, err := build(func(b *models.Builder) error {
		op = sgd(0.1).MinimizeGroups(b, regression(b), []optimizers.GroupSpec{{Variables: "^b$", Rule: rule.Momentum{Momentum: 0.9}, LearningRate: optimizers.Constant(0)}})
		return nil
	})
	must(t, err)
	if len(op.Groups) != 2 || variableNames(op.Groups[0]) != "b" || variableNames(op.Groups[1]) != "w" {
		t.Fatalf("got groups %v", op.Groups)
	}
	x, y := matrix([]float64{0, 0, 1, 0, 0, 1, 1, 1}, 4, 2), matrix([]float64{0, 1, 1, 2}, 4, 1)
	vars := train(t, b, op, 500, x, y)
	near(t, "b", tensor.Values[float64](vars["b"]), []float64{0}, 0)
	near(t, "w", tensor.Values[float64](vars["w"]), []float64{1, 1}, 1e-3)
}

func TestMinimizeErrors(t *testing.T) {
	_, err := build(func(b *models.Builder) error {
		loss := regression(b)
		sgd(1).Minimize(b, loss)
		sgd(1).Minimize(b, loss)
		return nil
	})
	if !errors.Is(err, optimizers.ErrSecondMinimize) {
		t.Errorf("second Minimize: got %v", err)
	}
	for _, c := range []struct {
		want string
		fn   func(b *models.Builder)
	}{
		{"scalar loss", func(b *models.Builder) { sgd(1).Minimize(b, b.Variable("w", []int{2})) }},
		{"scalar loss", func(b *models.Builder) { sgd(1).Minimize(b, nil) }},
		{"no trainable variable reaches", func(b *models.Builder) { sgd(1).Minimize(b, ops.Scalar(b, tensor.Float64, 1)) }},
		{"a rule and a learning rate", func(b *models.Builder) { (&optimizers.Optimizer{}).Minimize(b, regression(b)) }},
		{`group "dense/" matches 0 variables`, func(b *models.Builder) {
			sgd(1).MinimizeGroups(b, regression(b), []optimizers.GroupSpec{{Variables: "dense/", Rule: rule.SGD{}, LearningRate: optimizers.Constant(1)}})
		}},
		{"missing closing", func(b *models.Builder) {
			sgd(1).MinimizeGroups(b, regression(b), []optimizers.GroupSpec{{Variables: "("}})
		}},
	} {
		if _, err := build(func(b *models.Builder) error { c.fn(b); return nil }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestTotalLoss(t *testing.T) {
	var op *optimizers.TrainOp
	b, err := build(func(b *models.Builder) error {
		w := b.Variable("w", []int{2}, models.WithInit(initializers.Ones()),
			models.WithRegularizer(func(c models.Context, v *G.Node) *G.Node { return ops.Sum(c, ops.Square(c, v)) }))
		op = sgd(0.1).Minimize(b, optimizers.TotalLoss(b, ops.Sum(b, w)))
		return nil
	})
	must(t, err)
	near(t, "w", tensor.Values[float64](train(t, b, op, 300)["w"]), []float64{-0.5, -0.5}, 1e-9) // of w + w*w
}

func TestEmitErrors(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	step := b.Scalar("step", tensor.Int64, 0)
	if _, err := Emit(&optimizers.TrainOp{Step: &optimizers.StepOp{Function: "kmeans"}}, b, Env{}); !errors.Is(err, optimizers.ErrStepFunction) {
		t.Errorf("step function: got %v", err)
	}
	one := trainOp(sgd(1), variable("w", 1))
	grad := []lower.Value{{Output: b.Scalar("g", tensor.Float64, 1)}}
	for want, emit := range map[string]func() (Applied, error){
		"0 gradients for 1 variables": func() (Applied, error) { return Emit(one, b, Env{GlobalStep: step}) },
		"the global step":             func() (Applied, error) { return Emit(one, b, Env{Gradients: grad}) },
		"unknown transform": func() (Applied, error) {
			op := *one
			op.Transforms = []optimizers.Transform{{Kind: "square", Limit: 1}}
			return Emit(&op, b, Env{GlobalStep: step, Gradients: grad})
		},
		"expected variables, a rule": func() (Applied, error) {
			return Emit(&optimizers.TrainOp{Groups: []optimizers.Group{{}}}, b, Env{GlobalStep: step, Gradients: grad})
		},
	} {
		if _, err := emit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, s := range []optimizers.Schedule{optimizers.PiecewiseConstant{}, optimizers.PiecewiseConstant{Boundaries: []int64{1}, Values: []float64{1}}, optimizers.Cosine{Initial: 1}, optimizers.Exponential{Decay: optimizers.Decay{Initial: 1, Rate: 0.5}}} {
		op := *one
		op.Groups = []optimizers.Group{{Variables: one.Groups[0].Variables, Rule: rule.SGD{}, LearningRate: s}}
		if _, err := Emit(&op, b, Env{GlobalStep: step, Gradients: grad}); err == nil || !strings.Contains(err.Error(), "is NaN") {
			t.Errorf("%+v: got %v, expected it to be refused", s, err)
		}
	}
}
