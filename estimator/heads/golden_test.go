package heads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// golden is testdata/golden.json, which golden.py wrote by TensorFlow 2.15.
type golden struct {
	Cases   []goldenCase
	Exports map[string]struct {
		Kinds   map[string]string
		Predict []string
	}
}

type goldenCase struct {
	Name           string
	Options        goldenOptions
	Logits         [][][]float32
	Labels         []json.RawMessage
	Weights        [][][]float32
	Losses         []float64
	Gradient       [][]float64 // of the first batch's loss
	Predictions    map[string]json.RawMessage
	Regularization []float64
	Metrics        map[string]float64
}

type goldenOptions struct {
	Head             string
	NClasses         int `json:"n_classes"`
	LabelDimension   int `json:"label_dimension"`
	Thresholds       []float64
	Name             string
	WeightColumn     string    `json:"weight_column"`
	LossReduction    string    `json:"loss_reduction"`
	LabelVocabulary  []string  `json:"label_vocabulary"`
	ClassMetrics     []int     `json:"class_metrics"`
	ClassMetricNames []string  `json:"class_metric_names"`
	FullLoss         *bool     `json:"full_loss"`
	HeadWeights      []float64 `json:"head_weights"`
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (o goldenOptions) options() []heads.Option {
	var opts []heads.Option
	if o.Name != "" {
		opts = append(opts, heads.WithName(o.Name))
	}
	if o.WeightColumn != "" {
		opts = append(opts, heads.WithWeightColumn(o.WeightColumn))
	}
	if o.LossReduction == "sum" {
		opts = append(opts, heads.WithLossReduction(losses.Sum))
	}
	if o.Thresholds != nil {
		opts = append(opts, heads.WithThresholds(o.Thresholds...))
	}
	if o.LabelVocabulary != nil {
		opts = append(opts, heads.WithLabelVocabulary(o.LabelVocabulary...))
	}
	if o.ClassMetrics != nil {
		opts = append(opts, heads.WithClassMetrics(o.ClassMetrics...))
	}
	if o.ClassMetricNames != nil {
		opts = append(opts, heads.WithClassMetricsByName(o.ClassMetricNames...))
	}
	if o.FullLoss != nil {
		opts = append(opts, heads.WithFullLoss(*o.FullLoss))
	}
	return opts
}

func (o goldenOptions) head() heads.Head {
	opts := o.options()
	switch o.Head {
	case "binary":
		return heads.BinaryClass(opts...)
	case "multi_class":
		return heads.MultiClass(o.NClasses, opts...)
	case "multi_label":
		return heads.MultiLabel(o.NClasses, opts...)
	case "regression":
		return heads.Regression(max(1, o.LabelDimension), opts...)
	case "poisson":
		return heads.Poisson(max(1, o.LabelDimension), opts...)
	case "logistic":
		return heads.Logistic(opts...)
	}
	with := func(name string) []heads.Option { return append(slices.Clone(opts), heads.WithName(name)) }
	kind := heads.MultiClass(3, with("kind")...)
	size := heads.Regression(1, with("size")...)
	sold := heads.BinaryClass(with("sold")...)
	return heads.Multi(kind, size, sold).Weighted(o.HeadWeights...)
}

// columns returns the data of some batches, concatenated.
func (k goldenCase) columns(t *testing.T, from, to int) []inputs.NamedTensor {
	t.Helper()
	out := []inputs.NamedTensor{flat("logits", inputs.Feature, slices.Concat(k.Logits[from:to]...))}
	if k.Weights != nil {
		out = append(out, flat("w", inputs.Feature, slices.Concat(k.Weights[from:to]...)))
	}
	if k.Options.Head != "multi" {
		return append(out, labelColumn(t, "y", k.Labels[from:to]))
	}
	byName := map[string][]json.RawMessage{}
	for _, raw := range k.Labels[from:to] {
		var m map[string]json.RawMessage
		unmarshal(t, raw, &m)
		for name, r := range m {
			byName[name] = append(byName[name], r)
		}
	}
	for name, raws := range byName {
		out = append(out, labelColumn(t, name, raws))
	}
	return out
}

func flat[T float32 | int64](name string, role inputs.Role, rows [][]T) inputs.NamedTensor {
	return inputs.Slice(name, role, slices.Concat(rows...), len(rows[0]))
}

// labelColumn makes a column of what the JSON has: integers, fractions or (lists of) words.
func labelColumn(t *testing.T, name string, batches []json.RawMessage) inputs.NamedTensor {
	t.Helper()
	var ids [][]int64
	var values [][]float32
	var words [][]string
	for _, raw := range batches {
		var i [][]int64
		var f [][]float32
		var w [][]string
		switch {
		case strings.Contains(string(raw), `"`):
			unmarshal(t, raw, &w)
		case strings.Contains(string(raw), "."):
			unmarshal(t, raw, &f)
		default:
			unmarshal(t, raw, &i)
		}
		ids, values, words = append(ids, i...), append(values, f...), append(words, w...)
	}
	switch {
	case len(ids) > 0:
		return flat(name, inputs.Label, ids)
	case len(values) > 0:
		return flat(name, inputs.Label, values)
	}
	c := inputs.Strings(name, inputs.Label, slices.Concat(words...))
	c.Offsets = []int32{0}
	for _, row := range words {
		c.Offsets = append(c.Offsets, c.Offsets[len(c.Offsets)-1]+int32(len(row)))
	}
	if len(words) == c.Tensor.Len() && !slices.ContainsFunc(words, func(row []string) bool { return len(row) != 1 }) {
		c.Offsets = nil // one word each
	}
	return c
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// estimator returns an Estimator whose logits are the feature of that name. It passes on the Specs.
func (k goldenCase) estimator(t *testing.T, see func(*estimator.Spec)) *estimator.Estimator {
	t.Helper()
	h := k.Options.head()
	return open(t, func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		logits := passThrough(mc, f, h.LogitsDimension())
		for _, r := range k.Regularization {
			mc.AddLoss(ops.Scalar(mc, mc.DType(), r))
		}
		s, err := h.Spec(mc, heads.Inputs{Features: f, Labels: l, Logits: logits, Optimizer: sgd(1)})
		if see != nil && err == nil {
			see(s)
		}
		return s, err
	})
}

func TestGolden(t *testing.T) {
	for _, k := range readGolden(t).Cases {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			k.checkMetrics(t)
			k.checkPredictions(t)
			k.checkGradient(t)
		})
	}
}

// near reports whether two numbers differ by at most 1e-6, relatively if they are above 1.
func near(got, want float64) bool { return testkit.Near(got, want, 1e-6*math.Max(1, math.Abs(want))) }

func (k goldenCase) checkMetrics(t *testing.T) {
	t.Helper()
	e := k.estimator(t, nil)
	mean := 0.0
	for i, want := range k.Losses {
		res, err := e.Evaluate(context.Background(), batchesOf(7, k.columns(t, i, i+1)...))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := res.Scalar("loss"); !near(got, want) {
			t.Errorf("batch %d: loss %.9g, expected %.9g", i, got, want)
		}
		mean += want / float64(len(k.Losses))
	}
	res, err := e.Evaluate(context.Background(), batchesOf(7, k.columns(t, 0, len(k.Losses))...))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"loss": mean}
	for name, v := range k.Metrics {
		want[name] = v
	}
	for name, w := range want {
		if got, ok := res.Scalar(name); !ok || !near(got, w) {
			t.Errorf("%s is %.9g, expected %.9g", name, got, w)
		}
	}
	for name := range res.Metrics {
		if _, ok := want[name]; !ok && !strings.HasPrefix(name, "rmse") && !strings.HasPrefix(name, "mae") {
			t.Errorf("metric %s, which tf.estimator has not", name)
		}
	}
}

func (k goldenCase) checkPredictions(t *testing.T) {
	t.Helper()
	e := k.estimator(t, nil)
	got := map[string][]any{}
	for p, err := range e.Predict(context.Background(), batchesOf(7, k.columns(t, 0, 1)...)) {
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range p.All() {
			got[name] = append(got[name], listed(x))
		}
	}
	if len(got) != len(k.Predictions) {
		t.Errorf("%d predictions, expected %d", len(got), len(k.Predictions))
	}
	for name, raw := range k.Predictions {
		var want any
		unmarshal(t, raw, &want)
		if !alike(any(got[name]), want) {
			t.Errorf("%s is %v, expected %v", name, got[name], want)
		}
	}
}

// listed returns a prediction in the form of the JSON.
func listed(x *tensor.Tensor) any {
	var out []any
	for i := range x.Len() {
		if x.DType == tensor.String {
			out = append(out, string(x.Strings[i]))
		} else {
			out = append(out, x.Float(i))
		}
	}
	return out
}

func alike(got, want any) bool {
	a, ok := got.([]any)
	b, list := want.([]any)
	if ok != list || len(a) != len(b) {
		return false
	}
	if !list {
		x, isNumber := got.(float64)
		y, _ := want.(float64)
		return isNumber && near(x, y) || !isNumber && reflect.DeepEqual(got, want)
	}
	for i := range a {
		if !alike(a[i], b[i]) {
			return false
		}
	}
	return true
}

func TestGoldenExports(t *testing.T) {
	kinds := map[estimator.ExportKind]string{estimator.ExportClassify: "ClassificationOutput", estimator.ExportRegress: "RegressionOutput", estimator.ExportPredict: "PredictOutput"}
	for head, want := range readGolden(t).Exports {
		k := goldenCase{Options: goldenOptions{Head: head, NClasses: 3}}
		h := k.Options.head()
		var spec *estimator.Spec
		e := k.estimator(t, func(s *estimator.Spec) { spec = s })
		x := inputs.Slice("logits", inputs.Feature, make([]float32, h.LogitsDimension()), h.LogitsDimension())
		for _, err := range e.Predict(context.Background(), batchesOf(7, x)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]string{}
		for name, o := range spec.ExportOutputs {
			got[name] = kinds[o.Kind]
			if words := o.Texts["classes"].IDs; o.Kind == estimator.ExportClassify && (words == nil || o.Outputs["scores"] == nil || words.Shape()[1] != o.Outputs["scores"].Shape()[1]) {
				t.Errorf("%s: signature %s: expected a word for each score", head, name)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want.Kinds) {
			t.Errorf("%s: signatures %v, expected %v", head, got, want.Kinds)
		}
		var keys []string
		for name := range spec.ExportOutputs["predict"].Outputs {
			keys = append(keys, name)
		}
		for name := range spec.ExportOutputs["predict"].Texts {
			keys = append(keys, name)
		}
		slices.Sort(keys)
		if !slices.Equal(keys, want.Predict) {
			t.Errorf("%s: predict has %v, expected %v", head, keys, want.Predict)
		}
	}
}
