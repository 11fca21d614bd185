package heads_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

func run(t *testing.T, h heads.Head, columns ...inputs.NamedTensor) (*estimator.Estimator, estimator.InputFn, estimator.EvalResult, error) {
	t.Helper()
	e, in := openHead(t, h), batchesOf(100, columns...)
	res, err := e.Evaluate(context.Background(), in)
	return e, in, res, err
}

func check(t *testing.T, res estimator.EvalResult, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		if got, ok := res.Scalar(name); !ok || math.Abs(got-w) > 1e-5 {
			t.Errorf("%s is %g, expected %g", name, got, w)
		}
	}
	if len(res.Metrics) != len(want) {
		t.Errorf("metrics %v, expected %d of them", res.Metrics, len(want))
	}
}

// softmaxLoss is -log softmax(logits)[label].
func softmaxLoss(label int, logits ...float64) float64 {
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(l)
	}
	return math.Log(sum) - logits[label]
}

func TestMultiClass(t *testing.T) {
	h := heads.MultiClass(3)
	logits := inputs.Slice("logits", inputs.Feature, []float32{2, 0, 0, 0, 3, 0, 1, 0, 2}, 3)
	a, b, c := softmaxLoss(0, 2, 0, 0), softmaxLoss(1, 0, 3, 0), softmaxLoss(0, 1, 0, 2)
	for _, labels := range []inputs.NamedTensor{
		inputs.Slice("label", inputs.Label, []int64{0, 1, 0}), inputs.Slice("label", inputs.Label, []int32{0, 1, 0}, 1),
		inputs.Slice("label", inputs.Label, []uint8{0, 1, 0}),
	} {
		e, in, res, err := run(t, h, logits, labels)
		if err != nil {
			t.Fatal(err)
		}
		mean := (a + b + c) / 3
		check(t, res, map[string]float64{"loss": mean, "average_loss": mean, "accuracy": 2.0 / 3})
		var ids []int64
		for p, err := range e.Predict(context.Background(), in) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, tensor.Values[int64](p.Get("class_ids"))...)
			sum := float32(0)
			for _, x := range tensor.Values[float32](p.Get("probabilities")) {
				sum += x
			}
			if math.Abs(float64(sum)-1) > 1e-5 || len(p.Names()) != 6 {
				t.Errorf("prediction %v: expected logits, probabilities of sum 1, class_ids, classes and all of both", p)
			}
		}
		if fmt.Sprint(ids) != "[0 1 2]" {
			t.Errorf("classes %v, expected 0 1 2", ids)
		}
	}
	weights := inputs.Slice("w", inputs.Weight, []float32{1, 3, 0})
	_, _, res, err := run(t, h, logits, inputs.Slice("label", inputs.Label, []int64{0, 1, 0}), weights)
	if err != nil {
		t.Fatal(err)
	}
	check(t, res, map[string]float64{"loss": (a + 3*b) / 3, "average_loss": (a + 3*b) / 4, "accuracy": 1})
}

func TestRegression(t *testing.T) {
	h := heads.Regression(1)
	logits := inputs.Slice("logits", inputs.Feature, []float32{1, 2, 4}, 1)
	for _, labels := range []inputs.NamedTensor{inputs.Slice("y", inputs.Label, []float32{1, 4, 3}), inputs.Slice("y", inputs.Label, []float64{1, 4, 3}, 1),
		inputs.Slice("y", inputs.Label, []int64{1, 4, 3}, 1)} {
		_, _, res, err := run(t, h, logits, labels)
		if err != nil {
			t.Fatal(err)
		}
		check(t, res, map[string]float64{"loss": 5.0 / 3, "average_loss": 5.0 / 3, "rmse": math.Sqrt(5.0 / 3), "mae": 1,
			"prediction/mean": 7.0 / 3, "label/mean": 8.0 / 3})
	}
	_, _, res, err := run(t, h, logits, inputs.Slice("y", inputs.Label, []float32{1, 4, 3}), inputs.Slice("w", inputs.Weight, []float32{0, 1, 3}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, res, map[string]float64{"loss": 7.0 / 3, "average_loss": 7.0 / 4, "rmse": math.Sqrt(7.0 / 4), "mae": 5.0 / 4,
		"prediction/mean": 14.0 / 4, "label/mean": 13.0 / 4})
}

func TestTrainingLowersTheLoss(t *testing.T) {
	h := heads.MultiClass(3)
	e, in, before, err := run(t, h, inputs.Slice("logits", inputs.Feature, []float32{1, 0, 0, 0, 1, 0}, 3), inputs.Slice("label", inputs.Label, []int64{1, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	after, err := e.Evaluate(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := before.Metrics["loss"].Data[0], after.Metrics["loss"].Data[0]; y >= x {
		t.Errorf("loss %g before, %g after a step", x, y)
	}
}

func TestWrongInputs(t *testing.T) {
	classes := heads.MultiClass(3)
	values := heads.Regression(2)
	logits := func(n int) inputs.NamedTensor {
		return inputs.Slice("logits", inputs.Feature, make([]float32, 2*n), n)
	}
	cases := []struct {
		name    string
		head    heads.Head
		columns []inputs.NamedTensor
		want    string
	}{
		{"no label", classes, []inputs.NamedTensor{logits(3)}, "you must provide a labels tensor. Given: none"},
		{"two labels", classes, []inputs.NamedTensor{logits(3), inputs.Slice("a", inputs.Label, []int64{0, 1}), inputs.Slice("b", inputs.Label, []int64{0, 1})}, "exactly one"},
		{"float classes", classes, []inputs.NamedTensor{logits(3), inputs.Slice("a", inputs.Label, []float32{0, 1})}, "labels dtype should be integer. Instead got float32"},
		{"labels of another shape", classes, []inputs.NamedTensor{logits(3), inputs.Slice("a", inputs.Label, []int64{0, 1, 0, 1}, 2)}, "mismatched label shape"},
		{"too many logits", classes, []inputs.NamedTensor{logits(4), inputs.Slice("a", inputs.Label, []int64{0, 1})}, "logits shape must be [D0, D1, ... DN, logits_dimension], got (1009, 4)"},
		{"label dimension", values, []inputs.NamedTensor{logits(2), inputs.Slice("a", inputs.Label, []float32{0, 1})}, "mismatched label shape. Expected labels dimension=2.  Received [batch]"},
		{"a class too high", classes, []inputs.NamedTensor{logits(3), inputs.Slice("a", inputs.Label, []int64{0, 3})}, "3"},
		{"two weights", classes, []inputs.NamedTensor{logits(3), inputs.Slice("a", inputs.Label, []int64{0, 1}),
			inputs.Slice("v", inputs.Weight, []float32{1, 1}), inputs.Slice("w", inputs.Weight, []float32{1, 1})}, "second weight"},
	}
	for _, c := range cases {
		if _, _, _, err := run(t, c.head, c.columns...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.want)
		}
	}
	if heads.MultiClass(1).Err() == nil {
		t.Error("one class: expected an error")
	}
	if heads.Regression(0).Err() == nil {
		t.Error("dimension 0: expected an error")
	}
}

func ExampleBinaryClassHead_Of() {
	head := heads.BinaryClass(heads.WithLabelVocabulary("no", "yes"))
	dir, err := os.MkdirTemp("", "heads-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	est, err := estimator.New(head.Of(passThrough), estimator.WithOptimizer(sgd(0.1)), estimator.WithModelDir(dir),
		estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer est.Close()
	input := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		return inputs.Slices(ic.Allocator, inputs.Slice("logits", inputs.Feature, []float32{5}, 1), inputs.Strings("label", inputs.Label, []string{"yes"}))
	})
	res, err := est.Evaluate(context.Background(), input)
	if err != nil {
		fmt.Println(err)
		return
	}
	accuracy, _ := res.Scalar("accuracy")
	fmt.Println("accuracy", accuracy)
	for p, err := range est.Predict(context.Background(), input) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("class %s of %s\n", p.Get("classes").Strings, p.Get("all_classes").Strings)
	}
	// Output:
	// accuracy 1
	// class [yes] of [no yes]
}
