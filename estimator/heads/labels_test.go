package heads_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

func made(h heads.Head) heads.Head {
	if err := heads.Check(h); err != nil {
		panic(err)
	}
	return h
}

// TestLabelsAtTheirBounds: the first and the last label that a head takes.
func TestLabelsAtTheirBounds(t *testing.T) {
	for name, c := range map[string]struct {
		head   heads.Head
		labels inputs.NamedTensor
	}{
		"classes":  {made(heads.MultiClass(3)), inputs.Slice("y", inputs.Label, []int64{0, 2})},
		"binary":   {made(heads.BinaryClass()), inputs.Slice("y", inputs.Label, []float32{0, 1})},
		"counts":   {made(heads.Poisson(1)), inputs.Slice("y", inputs.Label, []float32{0, 1e9})},
		"logistic": {made(heads.Logistic()), inputs.Slice("y", inputs.Label, []float32{0, 1})},
		"numbers":  {made(heads.Regression(1)), inputs.Slice("y", inputs.Label, []float32{-math.MaxFloat32, 0})},
	} {
		logits := inputs.Slice("logits", inputs.Feature, make([]float32, 2*c.head.LogitsDimension()), c.head.LogitsDimension())
		if _, err := openHead(t, c.head).Evaluate(context.Background(), batchesOf(100, logits, c.labels)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// words is a column of lists of words, ragged.
func words(rows ...[]string) inputs.NamedTensor {
	var all []string
	offsets := []int32{0}
	for _, r := range rows {
		all = append(all, r...)
		offsets = append(offsets, int32(len(all)))
	}
	c := inputs.Strings("y", inputs.Label, all)
	c.Offsets = offsets
	return c
}

func TestWrongLabels(t *testing.T) {
	zeros := func(n int) inputs.NamedTensor {
		return inputs.Slice("logits", inputs.Feature, make([]float32, 3*n), n)
	}
	text := inputs.Strings("y", inputs.Label, []string{"yes", "no", "maybe"})
	ids := func(v ...int64) inputs.NamedTensor { return inputs.Slice("y", inputs.Label, v) }
	floats := func(v ...float32) inputs.NamedTensor { return inputs.Slice("y", inputs.Label, v) }
	ragged := words([]string{"a"}, []string{"b", "z"}, nil)
	three := heads.WithLabelVocabulary("a", "b", "c")
	yesNo := heads.WithLabelVocabulary("no", "yes")
	nan := float32(math.NaN())
	cases := []struct {
		name   string
		head   heads.Head
		labels inputs.NamedTensor
		want   string
	}{
		{"class too high", made(heads.MultiClass(3)), ids(0, 3, 1), `row 2: column "y": label 3: labels must be <= n_classes - 1 (2): correct it, or set n_classes (classes of a network) to at least 4`},
		{"class too low", made(heads.MultiClass(3)), ids(0, 1, -1), `row 3: column "y": label -1: labels must be >= 0`},
		{"binary too high", made(heads.BinaryClass()), ids(0, 2, 1), "row 2: column \"y\": label 2: labels must be <= n_classes - 1 (1)"},
		{"binary width", made(heads.BinaryClass()), inputs.Slice("y", inputs.Label, []int64{0, 1, 0, 0, 0, 1}, 2), "mismatched label shape. Expected labels dimension=1"},
		{"binary ragged", made(heads.BinaryClass(yesNo)), ragged, "SparseTensor labels are not supported"},
		{"binary NaN", made(heads.BinaryClass()), floats(0, 1, nan), "row 3: column \"y\": label NaN: labels must be class ids, 0 to 1"},
		{"text without vocabulary", made(heads.BinaryClass()), text, "label y is text: give a label_vocabulary"},
		{"vocabulary without text", made(heads.BinaryClass(yesNo)), ids(0, 1, 1), "labels dtype should be string if there is a vocabulary. Instead got int64"},
		{"unknown word", made(heads.BinaryClass(yesNo)), text, `row 3: column "y": label "maybe" is not in the label_vocabulary of 2 words`},
		{"ragged", made(heads.MultiClass(3, three)), ragged, "SparseTensor labels are not supported"},
		{"indicator", made(heads.MultiLabel(3)), inputs.Slice("y", inputs.Label, []int64{0, 1, 0, 0, 0, 2, 0, 0, 1}, 3),
			"row 2: column \"y\": label 2: labels must be an integer indicator tensor with values in [0, 1]"},
		{"indicator width", made(heads.MultiLabel(3)), ids(0, 1, 1), "mismatched label shape. Expected labels dimension=3"},
		{"unknown word in a list", made(heads.MultiLabel(3, three)), ragged, `row 2: column "y": label "z" is not in the label_vocabulary of 3 words`},
		{"list without vocabulary", made(heads.MultiLabel(3)), ragged, "label y is text: give a label_vocabulary"},
		{"text for a regression", made(heads.Regression(1)), text, "label y has type string: expected numbers"},
		{"NaN for a regression", made(heads.Regression(1)), floats(1, nan, 0), `row 2: column "y": label NaN: labels must be finite`},
		{"negative count", made(heads.Poisson(1)), floats(1, -1, 0), "row 2: column \"y\": label -1: labels must be >= 0"},
		{"above one", made(heads.Logistic()), floats(0.5, 0, 1.5), "row 3: column \"y\": label 1.5: labels must be in range [0, 1]"},
	}
	for _, c := range cases {
		_, err := openHead(t, c.head).Evaluate(context.Background(), batchesOf(100, zeros(c.head.LogitsDimension()), c.labels))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.want)
		}
	}
}

func TestWrongWeights(t *testing.T) {
	logits := inputs.Slice("logits", inputs.Feature, make([]float32, 2), 1)
	labels := inputs.Slice("y", inputs.Label, []float32{0, 1})
	weight := func(shape ...int) inputs.NamedTensor {
		return inputs.Slice("w", inputs.Feature, make([]float32, 2*max(1, len(shape))), shape...)
	}
	cases := []struct {
		head   heads.Head
		weight inputs.NamedTensor
		want   string
	}{
		{made(heads.BinaryClass(heads.WithWeightColumn("v"))), weight(), `weight_column "v" is no feature: the input has [logits w]`},
		{made(heads.BinaryClass(heads.WithWeightColumn("w"))), inputs.Slice("w", inputs.Feature, make([]float32, 4), 2),
			"weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1], logits_shape: [1009 1]. weights_shape: (1009, 2)"},
		{made(heads.Regression(1, heads.WithWeightColumn("w"))), inputs.Slice("w", inputs.Feature, make([]float32, 4), 2),
			"weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"},
		{made(heads.Regression(1, heads.WithWeightColumn("w"))), inputs.Strings("w", inputs.Feature, []string{"1", "2"}),
			"weight column should be castable to float. Given dtype: string"},
	}
	for _, c := range cases {
		_, err := openHead(t, c.head).Evaluate(context.Background(), batchesOf(100, logits, c.weight, labels))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
}

// TestWeightsThatAreNone: the error names the column, the row and the weight,
// wherever the weights come from.
func TestWeightsThatAreNone(t *testing.T) {
	logits := inputs.Slice("logits", inputs.Feature, make([]float32, 3), 1)
	labels := inputs.Slice("y", inputs.Label, []float32{0, 1, 1})
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	column := heads.WithWeightColumn("w")
	multi := made(heads.Multi(heads.Regression(1, column, heads.WithName("a"))))
	for _, c := range []struct {
		head   heads.Head
		weight inputs.NamedTensor
		want   string
	}{
		{made(heads.BinaryClass(column)), inputs.Slice("w", inputs.Feature, []float32{1, -1, 0}), `row 2: column "w": weight -1: weights of examples must be finite and not negative`},
		{made(heads.Regression(1, column)), inputs.Slice("w", inputs.Feature, []float32{1, 0, nan}, 1), `row 3: column "w": weight NaN`},
		{made(heads.Regression(1)), inputs.Slice("w", inputs.Weight, []float32{inf, 0, 1}), `row 1: column "w": weight +Inf`},
		{made(heads.Poisson(1, column)), inputs.Slice("w", inputs.Feature, []int64{1, 0, -3}), `row 3: column "w": weight -3`},
		{multi, inputs.Slice("w", inputs.Feature, []float32{-0.5, 0, 1}), `row 1: column "w": weight -0.5`},
	} {
		in := batchesOf(100, logits, c.weight, labels)
		if _, ok := c.head.(heads.MultiHead); ok {
			in = batchesOf(100, logits, c.weight, inputs.Slice("a", inputs.Label, []float32{0, 1, 1}))
		}
		for _, run := range []func() error{
			func() error { _, err := openHead(t, c.head).Train(t.Context(), in); return err },
			func() error { _, err := openHead(t, c.head).Evaluate(t.Context(), in); return err },
		} {
			if err := run(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, expected %q", err, c.want)
			}
		}
	}
}

// TestLabelForms: the same labels, in every form that a head takes, give the same metrics.
func TestLabelForms(t *testing.T) {
	logits := inputs.Slice("logits", inputs.Feature, []float32{1, -2, 0.5, 0, 2, -1}, 3)
	vocabulary := heads.WithLabelVocabulary("a", "b", "c")
	hot := inputs.Slice("y", inputs.Label, []int64{1, 0, 1, 0, 1, 0}, 3)
	want, err := openHead(t, made(heads.MultiLabel(3))).Evaluate(context.Background(), batchesOf(100, logits, hot))
	if err != nil {
		t.Fatal(err)
	}
	ids := inputs.NamedTensor{Name: "y", Role: inputs.Label, Tensor: inputs.Slice("", "", []int64{0, 2, 1}).Tensor, Offsets: []int32{0, 2, 3}}
	pairs := inputs.Strings("y", inputs.Label, []string{"c", "a", "b", "b"})
	pairs.Tensor.Shape = []int{2, 2}
	for _, c := range []struct {
		head   heads.Head
		labels inputs.NamedTensor
	}{
		{made(heads.MultiLabel(3, vocabulary)), words([]string{"a", "c"}, []string{"b"})},
		{made(heads.MultiLabel(3)), ids},
		{made(heads.MultiLabel(3, vocabulary)), pairs},
		{made(heads.MultiLabel(3)), inputs.Slice("y", inputs.Label, []bool{true, false, true, false, true, false}, 3)},
	} {
		got, err := openHead(t, c.head).Evaluate(context.Background(), batchesOf(100, logits, c.labels))
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want.Metrics {
			if g := got.Metrics[name]; g.String() != w.String() {
				t.Errorf("%s is %v, expected %v", name, g, w)
			}
		}
	}
}

// TestComputedLabels: labels need not be columns of the input. Labels of one number may have a dimension of 1 or
// none.
func TestComputedLabels(t *testing.T) {
	logits := []float32{1, -1, 2, 3, 0, -2}
	for name, c := range map[string]struct {
		head   heads.Head
		dtype  tensor.DType
		labels func(shape ...int) inputs.NamedTensor // shape of an example
	}{
		"binary": {made(heads.BinaryClass()), tensor.Float32, func(shape ...int) inputs.NamedTensor {
			return inputs.Slice("y", inputs.Label, []float32{1, 0, 0, 1, 1, 0}, shape...)
		}},
		"classes": {made(heads.MultiClass(3)), tensor.Int64, func(shape ...int) inputs.NamedTensor {
			return inputs.Slice("y", inputs.Label, []int64{2, 0}, shape...)
		}},
		"regression": {made(heads.Regression(1)), tensor.Float32, func(shape ...int) inputs.NamedTensor {
			return inputs.Slice("y", inputs.Label, []float32{1, 0.5, 0, 1, 1, 0}, shape...)
		}},
	} {
		in := func(shape ...int) estimator.InputFn {
			return batchesOf(100, inputs.Slice("logits", inputs.Feature, logits, c.head.LogitsDimension()), c.labels(shape...))
		}
		want, err := openHead(t, c.head).Evaluate(context.Background(), in())
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			same := ops.Mul(mc, l.Only(), ops.Scalar(mc, c.dtype, 1))
			return c.head.Spec(mc, heads.Inputs{Features: f, Labels: models.NewLabels(mc, models.Feature{Name: "y", Dense: same}),
				Logits: passThrough(mc, f, c.head.LogitsDimension()), Optimizer: sgd(0.1)})
		})
		for _, shape := range [][]int{nil, {1}} {
			got, err := e.Evaluate(context.Background(), in(shape...))
			if err != nil {
				t.Errorf("%s, labels of examples of shape %v: %v", name, shape, err)
				continue
			}
			for metric, w := range want.Metrics {
				if g := got.Metrics[metric]; g.String() != w.String() {
					t.Errorf("%s, labels of examples of shape %v: %s is %v, expected %v", name, shape, metric, g, w)
				}
			}
		}
	}
}

// TestLabelsOfOwnLoss: a loss_fn has labels [batch, 1], whichever form they come in.
func TestLabelsOfOwnLoss(t *testing.T) {
	var shapes [][]int
	loss := heads.WithLossFn(func(mc *estimator.ModelContext, in heads.LossInputs) *G.Node {
		shapes = append(shapes, in.Labels.Shape())
		return ops.Cast(mc, in.Labels, tensor.Float32)
	})
	for name, h := range map[string]heads.Head{"binary": made(heads.BinaryClass(loss)), "classes": made(heads.MultiClass(3, loss)), "regression": made(heads.Regression(1, loss))} {
		for _, computed := range []bool{false, true} {
			e := open(t, func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
				if computed {
					l = models.NewLabels(mc, models.Feature{Name: "y", Dense: ops.Mul(mc, l.Only(), ops.Scalar(mc, tensor.Int64, 1))})
				}
				return h.Spec(mc, heads.Inputs{Features: f, Labels: l, Logits: passThrough(mc, f, h.LogitsDimension()), Optimizer: sgd(0.1)})
			})
			for _, shape := range [][]int{nil, {1}} {
				shapes = nil
				in := batchesOf(100, inputs.Slice("logits", inputs.Feature, make([]float32, 2*h.LogitsDimension()), h.LogitsDimension()),
					inputs.Slice("y", inputs.Label, []int64{1, 0}, shape...))
				if _, err := e.Evaluate(context.Background(), in); err != nil {
					t.Errorf("%s, computed %v, of shape %v: %v", name, computed, shape, err)
				}
				if len(shapes) == 0 || slices.ContainsFunc(shapes, func(s []int) bool { return len(s) != 2 || s[1] != 1 }) {
					t.Errorf("%s, computed %v, of shape %v: the loss had labels of shapes %v, expected [batch 1]", name, computed, shape, shapes)
				}
			}
		}
	}
}

func TestOwnLossAndLink(t *testing.T) {
	absolute := func(mc *estimator.ModelContext, in heads.LossInputs) *G.Node {
		return losses.MeanAbsoluteError(mc, in.Labels, in.Logits, losses.Options{Reduction: losses.None})
	}
	h := made(heads.Regression(1, heads.WithLossFn(absolute), heads.WithInverseLink(ops.Exp)))
	columns := []inputs.NamedTensor{inputs.Slice("logits", inputs.Feature, []float32{1, 2}, 1), inputs.Slice("y", inputs.Label, []float32{3, 1})}
	_, _, res, err := run(t, h, columns...)
	if err != nil {
		t.Fatal(err)
	}
	check(t, res, map[string]float64{"loss": 1.5, "average_loss": 1.5, "label/mean": 2, "prediction/mean": (math.E + math.Exp(2)) / 2})
	scalar := func(mc *estimator.ModelContext, in heads.LossInputs) *G.Node { return ops.Sum(mc, in.Logits) }
	for _, fn := range []heads.LossFn{scalar, func(*estimator.ModelContext, heads.LossInputs) *G.Node { return nil }} {
		_, _, _, err = run(t, made(heads.Regression(1, heads.WithLossFn(fn))), columns...)
		if err == nil || !strings.Contains(err.Error(), "loss_fn must return a node of shape [D0, D1, ... DN, 1]") {
			t.Errorf("got %v, expected the shape of the loss to be refused", err)
		}
	}
}
