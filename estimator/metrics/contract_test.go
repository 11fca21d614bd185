package metrics_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// batch is one set of examples in the form that the naive references read.
type batch struct {
	labels  []float64   // [n]
	values  [][]float64 // [n][width]: predictions
	weights []float64   // [n]; nil: absent
}

// kind is one row of the contract: how to make the metric, draw its input and
// compute it naively over the examples.
type kind struct {
	name   string
	params []metrics.Param
	width  int // scores per example, 0: predictions have the labels' shape
	label  *rapid.Generator[float64]
	value  *rapid.Generator[float64]
	only   bool // takes values[, weights] without labels
	naive  func(batch) []float64
}

var (
	class3 = rapid.Map(rapid.IntRange(0, 2), func(i int) float64 { return float64(i) })
	bit    = rapid.Map(rapid.Bool(), func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	})
	// Multiples of 1/64 are exact in float32, and some hit a threshold exactly.
	unit = rapid.Map(rapid.IntRange(0, 64), func(i int) float64 { return float64(i) / 64 })
	real = rapid.Map(rapid.IntRange(-400, 400), func(i int) float64 { return float64(i) / 8 })
)

var kinds = []kind{
	{name: "accuracy", label: class3, value: class3, naive: meanOf(func(l float64, v []float64) float64 { return is(l == v[0]) })},
	{name: "binary_accuracy", params: thresholds(0.25), label: bit, value: unit,
		naive: meanOf(func(l float64, v []float64) float64 { return is((l == 1) == (v[0] > 0.25)) })},
	{name: "mean", only: true, label: bit, value: real, naive: meanOf(func(_ float64, v []float64) float64 { return v[0] })},
	{name: "accuracy_baseline", only: true, label: bit, value: bit, naive: func(b batch) []float64 {
		m := meanOf(func(_ float64, v []float64) float64 { return v[0] })(b)[0]
		any := meanOf(func(float64, []float64) float64 { return 1 })(b)[0] // 0 if nothing has weight
		return []float64{max(m, any-m)}
	}},
	{name: "min", only: true, label: bit, value: real, naive: extremeOf(func(a, b float64) bool { return a < b })},
	{name: "max", only: true, label: bit, value: real, naive: extremeOf(func(a, b float64) bool { return a > b })},
	{name: "mse", label: real, value: real, naive: meanOf(func(l float64, v []float64) float64 { return (l - v[0]) * (l - v[0]) })},
	{name: "rmse", label: real, value: real, naive: func(b batch) []float64 {
		return []float64{math.Sqrt(meanOf(func(l float64, v []float64) float64 { return (l - v[0]) * (l - v[0]) })(b)[0])}
	}},
	{name: "mae", label: real, value: real, naive: meanOf(func(l float64, v []float64) float64 { return math.Abs(l - v[0]) })},
	{name: "mape", label: real, value: real, naive: meanOf(func(l float64, v []float64) float64 { return 100 * math.Abs(l-v[0]) / max(math.Abs(l), 1e-7) })},
	{name: "cosine_similarity", label: real, value: real, naive: meanOf(func(l float64, v []float64) float64 {
		return is(l*v[0] > 0) - is(l*v[0] < 0)
	})},
	{name: "r2", label: real, value: real, naive: naiveR2},
	{name: "f1", params: thresholds(0.25, 0.75), label: bit, value: unit, naive: atEach([]float64{0.25, 0.75}, func(tp, fp, _, fn float64) float64 {
		return div(2, div(1, div(tp, tp+fp))+div(1, div(tp, tp+fn))) * is(tp > 0)
	})},
	{name: "f1_macro", params: []metrics.Param{metrics.WithClasses(4)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, _ := naiveF1(b)
		return []float64{(f[0] + f[1] + f[2]) / 4}
	}},
	{name: "f1_micro", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3,
		naive: meanOf(func(l float64, v []float64) float64 { return is(l == v[0]) })},
	{name: "f1_weighted", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, n := naiveF1(b)
		return []float64{div(f[0]*n[0]+f[1]*n[1]+f[2]*n[2], n[0]+n[1]+n[2])}
	}},
	{name: "f1_per_class", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, _ := naiveF1(b)
		return f
	}},
	{name: "fbeta", params: append(thresholds(0.25, 0.75), metrics.WithBeta(2)), label: bit, value: unit, naive: atEach([]float64{0.25, 0.75}, func(tp, fp, _, fn float64) float64 {
		p, r := div(tp, tp+fp), div(tp, tp+fn)
		return div(5*p*r, 4*p+r)
	})},
	{name: "fbeta_macro", params: []metrics.Param{metrics.WithClasses(4), metrics.WithBeta(2)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, _ := naiveFBeta(b, 2)
		return []float64{(f[0] + f[1] + f[2]) / 4}
	}},
	{name: "fbeta_micro", params: []metrics.Param{metrics.WithClasses(3), metrics.WithBeta(0.5)}, label: class3, value: class3,
		naive: meanOf(func(l float64, v []float64) float64 { return is(l == v[0]) })},
	{name: "fbeta_weighted", params: []metrics.Param{metrics.WithClasses(3), metrics.WithBeta(0.5)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, n := naiveFBeta(b, 0.5)
		return []float64{div(f[0]*n[0]+f[1]*n[1]+f[2]*n[2], n[0]+n[1]+n[2])}
	}},
	{name: "fbeta_per_class", params: []metrics.Param{metrics.WithClasses(3), metrics.WithBeta(3)}, label: class3, value: class3, naive: func(b batch) []float64 {
		f, _ := naiveFBeta(b, 3)
		return f
	}},
	{name: "iou", params: []metrics.Param{metrics.WithClasses(3), metrics.WithTargets(2, 0)}, label: class3, value: class3, naive: func(b batch) []float64 {
		of, there := naiveIoU(b)
		return []float64{div(of[2]+of[0], there[2]+there[0])}
	}},
	{name: "iou_per_class", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3, naive: func(b batch) []float64 {
		of, _ := naiveIoU(b)
		return of
	}},
	{name: "binary_iou", params: append(thresholds(0.25), metrics.WithTargets(1)), label: bit, value: unit, naive: func(b batch) []float64 {
		var both, either float64
		for i, l := range b.labels {
			both += b.weight(i) * is(l == 1 && b.values[i][0] >= 0.25)
			either += b.weight(i) * is(l == 1 || b.values[i][0] >= 0.25)
		}
		return []float64{div(both, either)}
	}},
	{name: "perplexity", width: 3, label: class3, value: unit, naive: func(b batch) []float64 {
		return []float64{math.Exp(meanOf(func(l float64, v []float64) float64 {
			p := func(i int) float64 { return min(max(v[i], 1e-7), 1-1e-7) }
			return math.Log((p(0) + p(1) + p(2)) / p(int(l)))
		})(b)[0])}
	}},
	{name: "bleu", params: []metrics.Param{metrics.WithOrder(1)}, label: class3, value: class3, naive: meanOf(func(l float64, v []float64) float64 { return is(l == v[0]) })},
	{name: "log_loss", label: unit, value: unit, naive: meanOf(func(l float64, v []float64) float64 {
		p := min(max(v[0], 1e-7), 1-1e-7)
		return -l*math.Log(p+1e-7) - (1-l)*math.Log(1-p+1e-7)
	})},
	{name: "sparse_categorical_crossentropy", params: []metrics.Param{metrics.WithLogits(true)}, width: 3, label: class3, value: real,
		naive: meanOf(func(l float64, v []float64) float64 {
			return math.Log(1 + math.Exp(v[(int(l)+1)%3]-v[int(l)]) + math.Exp(v[(int(l)+2)%3]-v[int(l)]))
		})},
	{name: "top_k", params: []metrics.Param{metrics.WithK(2)}, width: 3, label: class3, value: unit,
		naive: meanOf(func(l float64, v []float64) float64 {
			return is(!(v[(int(l)+1)%3] > v[int(l)] && v[(int(l)+2)%3] > v[int(l)]))
		})},
	{name: "precision", label: bit, value: unit, naive: atEach([]float64{0.5}, naivePrecision)},
	{name: "recall", params: thresholds(0.75, 0, 0.25, 0.25), label: bit, value: unit,
		naive: atEach([]float64{0.75, 0, 0.25, 0.25}, naiveRecall)},
	{name: "specificity", params: thresholds(0.125, 1), label: bit, value: unit,
		naive: atEach([]float64{0.125, 1}, func(tp, fp, tn, fn float64) float64 { return div(tn, tn+fp) })},
	{name: "true_positives", label: bit, value: unit, naive: atEach([]float64{0.5}, func(tp, fp, tn, fn float64) float64 { return tp })},
	{name: "false_positives", label: bit, value: unit, naive: atEach([]float64{0.5}, func(tp, fp, tn, fn float64) float64 { return fp })},
	{name: "true_negatives", label: bit, value: unit, naive: atEach([]float64{0.5}, func(tp, fp, tn, fn float64) float64 { return tn })},
	{name: "false_negatives", label: bit, value: unit, naive: atEach([]float64{0.5}, func(tp, fp, tn, fn float64) float64 { return fn })},
	{name: "sensitivity_at_specificity", params: bound(0.75, 65), label: bit, value: unit, naive: bestWhere(naiveSpecificity, naiveRecall)},
	{name: "specificity_at_sensitivity", params: bound(0.75, 65), label: bit, value: unit, naive: bestWhere(naiveRecall, naiveSpecificity)},
	{name: "precision_at_recall", params: bound(0.75, 65), label: bit, value: unit, naive: bestWhere(naiveRecall, naivePrecision)},
	{name: "recall_at_precision", params: bound(0.75, 65), label: bit, value: unit, naive: bestWhere(naivePrecision, naiveRecall)},
	{name: "auc", label: bit, value: unit, naive: rankAUC},
	{name: "auc_precision_recall", label: bit, value: unit, naive: integratedPR},
	{name: "confusion_matrix", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3, naive: naiveMatrix},
	{name: "mean_iou", params: []metrics.Param{metrics.WithClasses(3)}, label: class3, value: class3, naive: func(b batch) []float64 {
		c, sum, n := naiveMatrix(b), 0.0, 0.0
		for i := range 3 {
			union := c[3*i] + c[3*i+1] + c[3*i+2] + c[i] + c[3+i] + c[6+i] - c[4*i]
			sum, n = sum+div(c[4*i], union), n+is(union != 0)
		}
		return []float64{div(sum, n)}
	}},
}

func TestContract(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Run("reference and merge", rapid.MakeCheck(func(t *rapid.T) { checkMerge(t, k) }))
			t.Run("state", rapid.MakeCheck(func(t *rapid.T) { checkState(t, k) }))
			t.Run("bad arguments", func(t *testing.T) { checkBadArguments(t, k) })
		})
	}
}

// checkMerge compares one accumulator with the naive reference and with the merge of a random split.
func checkMerge(t *rapid.T, k kind) {
	b := k.draw(t, rapid.IntRange(0, 24).Draw(t, "examples"))
	whole, parts := k.open(t), []metrics.Accumulator{k.open(t), k.open(t), k.open(t)}
	update(t, k, whole, b)
	for i := range b.labels {
		update(t, k, parts[rapid.IntRange(0, 2).Draw(t, "part")], b.slice(i, i+1))
	}
	for _, p := range parts[1:] {
		if err := parts[0].Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "whole", k.naive(b), whole.Result().Data)
	near(t, "merged", k.naive(b), parts[0].Result().Data)
}

// checkState sends a state on to a used accumulator and resets it.
func checkState(t *rapid.T, k kind) {
	a, other := k.open(t), k.open(t)
	update(t, k, a, k.draw(t, rapid.IntRange(0, 8).Draw(t, "examples")))
	update(t, k, other, k.draw(t, 3))
	data, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	equal(t, "after a round trip", a.Result(), other.Result())
	for cut := range data {
		if err := other.UnmarshalBinary(data[:cut]); err == nil {
			t.Fatalf("accepted %d of %d bytes", cut, len(data))
		}
	}
	if err := other.UnmarshalBinary(append(data, 0)); err == nil {
		t.Fatal("accepted a byte too many")
	}
	equal(t, "after damaged states", a.Result(), other.Result())
	other.Reset()
	equal(t, "after Reset", k.open(t).Result(), other.Result())
}

// checkBadArguments checks that wrong tensors are refused by name, and change nothing.
func checkBadArguments(t *testing.T, k kind) {
	good := batch{labels: []float64{0, 1, 1}, values: [][]float64{{0, 1, 0}, {1, 0, 0}, {1, 0, 0}}}
	a := k.open(t)
	update(t, k, a, good)
	before := a.Result()
	args := k.args(good)
	strings_, _ := tensor.FromStrings(make([][]byte, 3), 3)
	short := *args[len(args)-1]
	short.Bytes = short.Bytes[:4]
	last := len(args) - 1
	for name, bad := range map[string][]*tensor.Tensor{
		"no arguments":   {},
		"too many":       append(append([]*tensor.Tensor{}, args...), nil, nil),
		"nil tensor":     append(append([]*tensor.Tensor{}, args[:last]...), nil),
		"strings":        append(append([]*tensor.Tensor{}, args[:last]...), strings_),
		"short memory":   append(append([]*tensor.Tensor{}, args[:last]...), &short),
		"wrong weights":  append(append([]*tensor.Tensor{}, args...), dense(1, 1)),
		"weights' rank":  append(append([]*tensor.Tensor{}, args...), tensor.New(tensor.Float32, 3, 1, 2, 2)),
		"string weights": append(append([]*tensor.Tensor{}, args...), strings_),
	} {
		checkRefused(t, k, a, name, bad)
	}
	if !k.only {
		checkRefused(t, k, a, "other batch", []*tensor.Tensor{dense(1, 1), args[1]})
	}
	if err := a.Merge(nil); !errors.Is(err, metrics.ErrIncompatible) {
		t.Errorf("Merge(nil): %v", err)
	}
	equal(t, "after refused updates", before, a.Result())
}

func checkRefused(t *testing.T, k kind, a metrics.Accumulator, name string, bad []*tensor.Tensor) {
	t.Helper()
	err := a.Update(bad...)
	if err == nil {
		t.Errorf("%s: accepted", name)
	} else if !strings.Contains(err.Error(), "expected") || !strings.Contains(err.Error(), "got") || !strings.HasPrefix(err.Error(), k.name) {
		t.Errorf("%s: error %q should begin with %s and say what was expected and got", name, err, k.name)
	}
}

func TestEveryNameHasAContract(t *testing.T) {
	aliases := map[string]bool{"mean_squared_error": true, "root_mean_squared_error": true, "mean_absolute_error": true,
		"mean_absolute_percentage_error": true, "precision_at_thresholds": true, "recall_at_thresholds": true, "sensitivity": true}
	var want, got []string
	for _, n := range metrics.Names() {
		if !aliases[n] {
			want = append(want, n)
		}
	}
	seen := map[string]bool{}
	for _, k := range kinds {
		seen[k.name] = true
	}
	for _, n := range metrics.Names() {
		if seen[n] {
			got = append(got, n)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("registered kinds without a row in the contract (-registered +tested):\n%s", d)
	}
}

// Every two kinds, and two sets of parameters of one kind, refuse each other's state.
func TestKindsDoNotMix(t *testing.T) {
	var all []metrics.Accumulator
	for _, k := range kinds {
		all = append(all, k.open(t))
	}
	all = append(all, must(metrics.New("precision", metrics.WithThresholds(0.4))), must(metrics.New("auc", metrics.WithNumThresholds(100))),
		must(metrics.New("auc", metrics.WithSummation(metrics.Minoring))), must(metrics.New("confusion_matrix", metrics.WithClasses(4))),
		must(metrics.New("top_k", metrics.WithK(3))), must(metrics.New("sparse_categorical_crossentropy")), must(metrics.New("perplexity", metrics.WithLogits(true))),
		must(metrics.New("f1_macro", metrics.WithClasses(3))), must(metrics.New("fbeta", metrics.WithBeta(3), metrics.WithThresholds(0.25, 0.75))), must(metrics.New("fbeta_macro", metrics.WithClasses(4), metrics.WithBeta(3))), must(metrics.New("f1_macro", metrics.WithClasses(3), metrics.WithThresholds(0.5))),
		must(metrics.New("iou", metrics.WithClasses(3))), must(metrics.New("binary_iou")), must(metrics.New("r2", metrics.WithOutputs(2))), must(metrics.New("bleu")),
		must(metrics.New("bleu", metrics.WithEnd(1))), must(metrics.New("bleu", metrics.WithSmoothing(metrics.SmoothNone))))
	for i, a := range all {
		data, _ := a.MarshalBinary()
		for j, b := range all {
			same := i == j
			if err := b.UnmarshalBinary(data); same != (err == nil) || (!same && !errors.Is(err, metrics.ErrIncompatible)) {
				t.Errorf("%d into %d: unmarshal: %v", i, j, err)
			}
			if err := b.Merge(a); same != (err == nil) || (!same && !errors.Is(err, metrics.ErrIncompatible)) {
				t.Errorf("%d into %d: merge: %v", i, j, err)
			}
		}
	}
}
