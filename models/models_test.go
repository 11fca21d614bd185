package models_test

import (
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"
)

func build(t *testing.T, o models.Options, fn func(b *models.Builder) error) *models.Builder {
	t.Helper()
	if o.Batch == 0 {
		o.Batch = 4
	}
	b, err := models.Build(o, fn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuildRefusesBadOptions(t *testing.T) {
	for _, o := range []models.Options{{}, {Batch: -1}, {Batch: 1, DType: tensor.Int32}} {
		if _, err := models.Build(o, func(*models.Builder) error { return nil }); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestFirstErrorSticks(t *testing.T) {
	first := errors.New("first")
	b, err := models.Build(models.Options{Batch: 1}, func(b *models.Builder) error {
		b.Scope("part", func() { b.Failf("broken: %w", first) })
		b.Failf("second")
		if b.Variable("v", []int{1}) != nil || b.Input("x", tensor.Float32, 1) != nil {
			t.Error("a failed Builder made a node")
		}
		return errors.New("returned")
	})
	if b != nil || !errors.Is(err, first) || err.Error() != "part: broken: first" {
		t.Errorf("got %v, %v", b, err)
	}
}

func TestBuildReturnsTheFunctionsErrorAndPanics(t *testing.T) {
	mine := errors.New("mine")
	if _, err := models.Build(models.Options{Batch: 1}, func(*models.Builder) error { return mine }); err != mine {
		t.Errorf("got %v", err)
	}
	_, err := models.Build(models.Options{Batch: 1}, func(*models.Builder) error { panic("boom") })
	var p *models.PanicError
	if !errors.As(err, &p) || p.Value != "boom" || len(p.Stack) == 0 {
		t.Errorf("got %v", err)
	}
	// The lock is free again.
	build(t, models.Options{}, func(*models.Builder) error { return nil })
}

func TestScopesAndNames(t *testing.T) {
	var got []string
	build(t, models.Options{}, func(b *models.Builder) error {
		add := func() { got = append(got, b.UniqueName("MatMul")) }
		add()
		add()
		b.Scope("a", func() {
			add()
			for range 3 {
				b.UniqueScope("dense", func() { got = append(got, b.ScopeName()) })
			}
		})
		b.UniqueScope("dense", func() { add() })
		return nil
	})
	b := build(t, models.Options{}, func(b *models.Builder) error {
		b.Scope("a", func() { b.UniqueScope("b/c.d", func() { got = append(got, b.ScopeName()) }) })
		return nil
	})
	if b.ScopeName() != "" {
		t.Errorf("scope %s is still open", b.ScopeName())
	}
	want := []string{"MatMul", "MatMul_1", "a/MatMul", "a/dense", "a/dense_1", "a/dense_2", "dense/MatMul", "a/b/c.d"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Names that come from data become distinct names that TensorFlow accepts.
func TestNamesOfData(t *testing.T) {
	b := build(t, models.Options{}, func(b *models.Builder) error {
		for _, name := range []string{"features/sepal length (cm)", "features/sepal_length (cm)", "_id", "größe", "a.b-c/d_e", "a.b-c/d_e"} {
			b.Input(name, tensor.Float32, b.Batch())
		}
		b.Scope("in", func() {
			if got := b.UniqueName("x:0"); got != "in/x_0" {
				t.Errorf("op name %s", got)
			}
		})
		return nil
	})
	var got []string
	for _, in := range b.Inputs() {
		if got = append(got, in.Name); in.Node.Name() != in.Name {
			t.Errorf("input %s has the node %s", in.Name, in.Node.Name())
		}
	}
	want := []string{"features/sepal_length__cm_", "features/sepal_length__cm__1", "x_id", "gr__e", "a.b-c/d_e", "a.b-c/d_e_1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestVariables(t *testing.T) {
	var loss *G.Node
	b := build(t, models.Options{DType: tensor.Float64}, func(b *models.Builder) error {
		b.Scope("layer", func() {
			loss = b.Input("penalty", tensor.Float64)
			b.Variable("kernel", []int{2, 3}, models.WithInit(initializers.Ones()),
				models.WithRegularizer(func(models.Context, *G.Node) *G.Node { return loss }))
			mean := b.Variable("mean", []int{3}, models.NonTrainable())
			b.Assign(mean, mean)
		})
		b.Variable("steps", nil, models.WithDType(tensor.Int64))
		return nil
	})
	var got []string
	for _, v := range b.Variables() {
		got = append(got, fmt.Sprint(v.Name, " ", graph.TypeOf(v.DType, v.Shape...).DType, v.Shape, " ", v.Trainable))
	}
	want := []string{"layer/kernel float64 [2 3] true", "layer/mean float64 [3] false", "steps int64 [] false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	kernel := b.Variables()[0]
	if len(b.TrainableVariables()) != 1 || b.VariableOf(kernel.Node) != kernel || b.VariableOf(nil) != nil {
		t.Error("trainable variables or VariableOf are wrong")
	}
	if len(b.RegularizationLosses()) != 1 || b.RegularizationLosses()[0] != loss {
		t.Error("the regularizer's loss is missing")
	}
	if u := b.Updates(); len(u) != 1 || u[0].Variable.Name != "layer/mean" {
		t.Errorf("updates: %v", u)
	}
}

func TestBuilderErrors(t *testing.T) {
	cases := map[string]struct {
		fn   func(b *models.Builder)
		want string
	}{
		"variable twice":   {func(b *models.Builder) { b.Variable("v", []int{1}); b.Variable("v", []int{1}) }, "already exists"},
		"empty dimension":  {func(b *models.Builder) { b.Variable("v", []int{2, 0}) }, "dimension 1 of shape [2 0]: expected > 0"},
		"variable type":    {func(b *models.Builder) { b.Variable("v", nil, models.WithDType(tensor.BFloat16)) }, "bfloat16"},
		"variable name":    {func(b *models.Builder) { b.Variable("", []int{1}) }, "it has no name"},
		"variable pattern": {func(b *models.Builder) { b.Variable("sepal length", []int{1}) }, `variable sepal length: the name "sepal length" is not one of TensorFlow's: expected [A-Za-z0-9.][A-Za-z0-9_.\-/]*`},
		"scope pattern":    {func(b *models.Builder) { b.Scope("a:b", func() {}) }, `scope: the name "a:b" is not one of TensorFlow's`},
		"scope name":       {func(b *models.Builder) { b.Scope("", func() {}) }, "scope: it has no name"},
		"first character":  {func(b *models.Builder) { b.UniqueScope("_a", func() {}) }, `the name "_a"`},
		"variable size":    {func(b *models.Builder) { b.Variable("v", []int{1 << 40, 1 << 40}) }, "at most 2^40 elements"},
		"input shape":      {func(b *models.Builder) { b.Input("x", tensor.Float32, -1, 3) }, "input x: dimension 0 of shape [-1 3]: expected > 0"},
		"input name":       {func(b *models.Builder) { b.Input("", tensor.Float32, 1) }, "it has no name"},
		"input type":       {func(b *models.Builder) { b.Input("x", tensor.Float16, 1) }, "input x"},
		"assign a feature": {func(b *models.Builder) { x := b.Input("x", tensor.Float32, 1); b.Assign(x, x) }, "no variable"},
		"assign nothing":   {func(b *models.Builder) { b.Assign(b.Variable("v", []int{1}), nil) }, "variable v: the value is nil"},
		"assign a shape":   {func(b *models.Builder) { b.Assign(b.Variable("v", []int{2}), b.Variable("w", []int{3})) }, "expected float32 [2]"},
		"no loss":          {func(b *models.Builder) { b.AddLoss(nil) }, "expected a scalar node"},
		"no prediction":    {func(b *models.Builder) { b.AddPrediction("code", nil) }, `prediction "code": expected a node [batch, ...]`},
		"prediction twice": {func(b *models.Builder) {
			x := b.Input("p", tensor.Float32, b.Batch(), 2)
			b.AddPrediction("code", x)
			b.AddPrediction("code", x)
		}, `prediction "code": expected a node [batch, ...], and a name that no other has`},
		"matrix loss": {func(b *models.Builder) { b.AddLoss(b.Variable("v", []int{2, 2})) }, "expected a scalar node"},
		"no summary":  {func(b *models.Builder) { b.Summarize(models.ScalarSummary, "s", nil) }, "summary s: the node is nil"},
		"unknown feature": {func(b *models.Builder) {
			models.NewFeatures(b, models.Feature{Name: "a"}, models.Feature{Name: "b"}).Dense("c")
		}, `no dense feature "c": the input has a, b`},
		"more than one feature": {func(b *models.Builder) {
			models.NewFeatures(b, models.Feature{Name: "a"}, models.Feature{Name: "b"}).Only()
		}, "exactly one dense feature"},
		"no feature": {func(b *models.Builder) { models.NewFeatures(b).Only() }, "none"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := models.Build(models.Options{Batch: 2}, func(b *models.Builder) error { c.fn(b); return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestFeatures(t *testing.T) {
	build(t, models.Options{Mode: models.Train}, func(b *models.Builder) error {
		x := b.Input("x", tensor.Float32, b.Batch(), 3)
		f := models.NewFeatures(b, models.Feature{Name: "x", Dense: x})
		if f.Len() != 1 || f.Only() != x || f.Dense("x") != x || f.Names()[0] != "x" || f.All()[0].Dense != x {
			t.Error("the feature is not there")
		}
		b.Scope("s", func() { b.Summarize(models.ScalarSummary, "loss", x) })
		if s := b.Summaries(); len(s) != 1 || s[0].Tag != "s/loss" || s[0].Kind != models.ScalarSummary {
			t.Errorf("summaries: %v", s)
		}
		if !b.Training() || b.Mode() != models.Train || len(b.Inputs()) != 1 {
			t.Error("mode or inputs are wrong")
		}
		return nil
	})
}

func TestKeyDependsOnSeedAndNameAlone(t *testing.T) {
	if models.Key(1, "a") != models.Key(1, "a") || models.Key(1, "a") == models.Key(2, "a") || models.Key(1, "a") == models.Key(1, "b") {
		t.Error("keys do not follow from seed and name")
	}
	if models.Key(1, "1a") == models.Key(11, "a") {
		t.Error("seed and name run together")
	}
}

func TestTypesConvertBothWays(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Bool, tensor.String} {
		if dt, err := models.GorgoniaType(d); err != nil || models.GraphType(dt) != d {
			t.Errorf("%v: %v, %v", d, dt, err)
		}
	}
}
