package assess

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// model predicts row i of a batch.
type model func(columns []inputs.NamedTensor, i int) map[string]*tensor.Tensor

// predict is a Predictor that calls the model.
func (m model) predict(ctx context.Context, input estimator.InputFn, _ int64) iter.Seq2[estimator.Prediction, error] {
	return func(yield func(estimator.Prediction, error) bool) {
		if err := m.each(ctx, input, func(p estimator.Prediction) bool { return yield(p, nil) }); err != nil {
			yield(estimator.Prediction{}, err)
		}
	}
}

func (m model) each(ctx context.Context, input estimator.InputFn, yield func(estimator.Prediction) bool) error {
	ds, err := input.Input(ctx, inputs.Context{})
	if err != nil {
		return err
	}
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		columns, err := inputs.Tensors(rec, ds.Schema())
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			if !yield(estimator.PredictionOf(m(columns, i))) {
				rec.Release()
				return nil
			}
		}
		rec.Release()
	}
}

func data(columns ...inputs.NamedTensor) estimator.InputFn {
	return estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, columns...)
		return inputs.Pipe(ds, inputs.Batch(3, false)), err
	})
}

func run(t *testing.T, m model, o Options, columns ...inputs.NamedTensor) *Result {
	t.Helper()
	r, err := Run(context.Background(), m.predict, data(columns...), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("as JSON: %v", err)
	}
	return r
}

func near(t *testing.T, what string, got Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) < 1e-9) && !(math.IsNaN(float64(got)) && math.IsNaN(want)) {
		t.Errorf("%s: got %v, expected %v", what, float64(got), want)
	}
}

// The scores of a classifier, with ties, and weights, one of them zero; s is also the feature.
var (
	scores  = []float64{0.1, 0.4, 0.4, 0.35, 0.8, 0.8, 0.2, 0.9, 0.5, 0.5}
	truths  = []int64{0, 1, 1, 0, 1, 0, 0, 1, 1, 0}
	weights = []float64{1, 2, 0.5, 1, 3, 0.25, 1, 1, 0, 2}
)

// ofScore takes column s as the probability of the second class.
func ofScore(columns []inputs.NamedTensor, i int) map[string]*tensor.Tensor {
	s := columns[0].Row(i).Float(0)
	p, _ := tensor.FromSlice([]float64{1 - s, s}, 2)
	return map[string]*tensor.Tensor{"probabilities": p}
}

// The results are scikit-learn's: roc_auc_score, average_precision_score, brier_score_loss and calibration_curve.
func TestBinary(t *testing.T) {
	s, y := inputs.Slice("s", inputs.Feature, scores), inputs.Slice("y", inputs.Label, truths)
	r := run(t, ofScore, Options{Worst: 2, Classes: []string{"no", "yes"}}, s, y)
	if r.Rows != 10 || len(r.Heads) != 1 || r.Heads[0].Kind != KindBinaryClass {
		t.Fatalf("got %+v", r)
	}
	c := r.Heads[0].Classes
	one := c.Curves[0]
	near(t, "area", one.ROCAUC, 0.76)
	near(t, "average precision", one.AveragePrecision, 0.739047619047619)
	near(t, "brier", one.Brier, 0.20825)
	near(t, "accuracy", c.Accuracy, 0.6)
	if one.Class != "yes" || one.Within != 0 {
		t.Errorf("got the class %s within %v", one.Class, one.Within)
	}
	wantTrue, wantMean := []float64{0, 0, 2. / 3, 0.5, 0.5, 1}, []float64{0.1, 0.2, 1.15 / 3, 0.5, 0.8, 0.9}
	for i, b := range one.Bins {
		near(t, "came true", Number(b.True), wantTrue[i])
		near(t, "mean", Number(b.Predicted), wantMean[i])
	}
	if w := r.Heads[0].Worst; len(w) != 2 || w[0].Row != 5 || w[0].Label != "no" || w[0].Predicted != "yes (0.8)" || w[1].Row != 1 {
		t.Errorf("worst: %+v", w)
	}
	r = run(t, ofScore, Options{}, s, y, inputs.Slice("w", inputs.Weight, weights))
	one = r.Heads[0].Classes.Curves[0]
	near(t, "weighted area", one.ROCAUC, 0.8241758241758241)
	near(t, "weighted average precision", one.AveragePrecision, 0.8739495798319328)
	near(t, "weighted brier", one.Brier, 0.15851063829787232)
	if got := r.Heads[0].Classes.Confusion; got[0][0] != 5 || got[0][1] != 0.25 || got[1][0] != 2.5 || got[1][1] != 4 {
		t.Errorf("confusion %v", got)
	}
}

// A feature can also be the weight of rows. It then has no importance.
func TestWeightFeature(t *testing.T) {
	r := run(t, ofScore, Options{Weights: "w"}, inputs.Slice("s", inputs.Feature, scores), inputs.Slice("y", inputs.Label, truths), inputs.Slice("w", inputs.Feature, weights))
	near(t, "weighted area", r.Heads[0].Classes.Curves[0].ROCAUC, 0.8241758241758241)
}

// Rows that cannot be compared are counted and left out; a metric without a value is null.
func TestEdges(t *testing.T) {
	nan := math.NaN()
	s, y := inputs.Slice("s", inputs.Feature, []float64{nan, 0.2, 0.7, 0.9}), inputs.Slice("y", inputs.Label, []int64{1, 1, 1, 7})
	r := run(t, ofScore, Options{Worst: 9}, s, y, inputs.Slice("w", inputs.Weight, []float64{1, 1, 1, 1}))
	c := r.Heads[0].Classes
	if r.LeftOut["a prediction is not finite"] != 1 || r.LeftOut["a label is none of the classes"] != 1 || len(r.Heads[0].Worst) != 2 {
		t.Errorf("left out %v, worst %v", r.LeftOut, r.Heads[0].Worst)
	}
	near(t, "area of one class alone", c.Curves[0].ROCAUC, nan)
	near(t, "average precision without negatives", c.Curves[0].AveragePrecision, 1)
	if b, err := json.Marshal(c.Curves[0]); err != nil || !strings.Contains(string(b), `"roc_auc":null`) {
		t.Errorf("%s, error %v", b, err)
	}

	r = run(t, ofScore, Options{}, s, y, inputs.Slice("w", inputs.Weight, []float64{1, -1, nan, 1}))
	if r.LeftOut["a weight is negative or not finite"] != 2 {
		t.Errorf("left out %v", r.LeftOut)
	}
	r = run(t, ofScore, Options{ImportanceRows: 2, Repeats: 2}, inputs.Slice("s", inputs.Feature, []float64{}), inputs.Slice("y", inputs.Label, []int64{}))
	if r.Rows != 0 || len(r.Heads) != 0 || len(r.Notes) == 0 {
		t.Errorf("no rows: got %+v", r)
	}
	r = run(t, ofScore, Options{}, inputs.Slice("s", inputs.Feature, scores))
	if len(r.Heads) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no label") {
		t.Errorf("no label: got %+v", r)
	}
	other := model(func([]inputs.NamedTensor, int) map[string]*tensor.Tensor {
		return map[string]*tensor.Tensor{"embedding": tensor.Scalar(1.0)}
	})
	r = run(t, other, Options{}, s, y)
	if len(r.Heads) != 0 || !strings.Contains(r.Notes[0], "the model predicts embedding") {
		t.Errorf("predictions of other names: got %+v", r)
	}
}

// Rows beyond the limit are not read, and More says so; exactly at the limit there are no more.
func TestLimit(t *testing.T) {
	for limit, want := range map[int64]struct {
		rows int64
		more bool
	}{4: {4, true}, 9: {9, true}, 10: {10, false}, 0: {10, false}} {
		r := run(t, ofScore, Options{Rows: limit}, inputs.Slice("s", inputs.Feature, scores), inputs.Slice("y", inputs.Label, truths))
		if r.Rows != want.rows || r.More != want.more {
			t.Errorf("limit %d: got %d rows, more %t", limit, r.Rows, r.More)
		}
	}
}

// The results are scikit-learn's: root of mean_squared_error, mean_absolute_error and r2_score.
func TestRegression(t *testing.T) {
	m := model(func(columns []inputs.NamedTensor, i int) map[string]*tensor.Tensor {
		return map[string]*tensor.Tensor{"predictions": columns[0].Row(i)}
	})
	y := make([]float64, len(truths))
	for i, v := range truths {
		y[i] = float64(v)
	}
	s := inputs.Slice("s", inputs.Feature, scores)
	r := run(t, m, Options{Worst: 1}, s, inputs.Slice("y", inputs.Label, y), inputs.Slice("w", inputs.Weight, weights))
	one := r.Heads[0].Regression
	near(t, "rmse", one.RMSE, 0.398133945171562)
	near(t, "mae", one.MAE, 0.3446808510638298)
	near(t, "r2", one.R2, 0.35869963369963376)
	if r.Heads[0].Worst[0].Row != 5 {
		t.Errorf("worst %+v", r.Heads[0].Worst)
	}
	r = run(t, m, Options{}, s, inputs.Slice("y", inputs.Label, make([]float64, 10)))
	near(t, "r2 of equal labels", r.Heads[0].Regression.R2, math.NaN())
}

// Multi-label classification, and words as labels.
func TestKinds(t *testing.T) {
	three := model(func(columns []inputs.NamedTensor, i int) map[string]*tensor.Tensor {
		words, _ := tensor.FromStrings([][]byte{[]byte("a"), []byte("b"), []byte("c")}, 3)
		return map[string]*tensor.Tensor{"probabilities": columns[0].Row(i), "all_classes": words}
	})
	p := inputs.Slice("p", inputs.Feature, []float64{0.7, 0.2, 0.1, 0.2, 0.5, 0.3, 0.3, 0.3, 0.4}, 3)
	r := run(t, three, Options{Worst: 1}, p, inputs.Strings("y", inputs.Label, []string{"a", "c", "c"}))
	c := r.Heads[0].Classes
	if r.Heads[0].Kind != KindMultiClass || len(c.Curves) != 3 || c.Confusion[2][1] != 1 || c.Confusion[2][2] != 1 || r.Heads[0].Worst[0].Predicted != "b (0.5)" {
		t.Errorf("words: got %+v", r.Heads[0])
	}
	near(t, "cross-entropy", c.CrossEntropy, -(math.Log(0.7)+math.Log(0.3)+math.Log(0.4))/3)
	r = run(t, three, Options{Worst: 1}, p, inputs.Slice("y", inputs.Label, []int64{1, 0, 0, 0, 1, 1, 0, 0, 0}, 3))
	c = r.Heads[0].Classes
	if r.Heads[0].Kind != KindMultiLabel || c.Confusion != nil || r.Heads[0].Worst[0].Row != 1 || r.Heads[0].Worst[0].Label != "b, c" {
		t.Errorf("several labels: got %+v", r.Heads[0])
	}
	near(t, "share that is right", c.Accuracy, 7./9) // neither b nor c of row 1 is above 0.5
}

// An input that the model does not read has no importance; the only input that it reads has all.
func TestImportance(t *testing.T) {
	n := 200
	s, noise, y := make([]float64, n), make([]float64, n), make([]int64, n)
	for i := range s {
		s[i], noise[i], y[i] = float64(i)/float64(n), float64(i%7), int64(2*i/n)
	}
	columns := []inputs.NamedTensor{inputs.Slice("s", inputs.Feature, s), inputs.Slice("noise", inputs.Feature, noise), inputs.Slice("y", inputs.Label, y)}
	o := Options{ImportanceRows: 50, Repeats: 3}
	im := run(t, ofScore, o, columns...).Importance
	if im == nil || im.Rows != 50 || len(im.Inputs) != 2 || im.Inputs[0].Name != "s" {
		t.Fatalf("got %+v", im)
	}
	near(t, "accuracy", im.Base, 1)
	if used, unused := im.Inputs[0], im.Inputs[1]; used.ScoreDrop < 0.3 || used.LossRise < 0.3 || unused.LossRise != 0 || unused.ScoreDrop != 0 {
		t.Errorf("got %+v", im.Inputs)
	}
	if again := run(t, ofScore, o, columns...).Importance; again.Inputs[0] != im.Inputs[0] {
		t.Errorf("got %+v after %+v", again.Inputs[0], im.Inputs[0])
	}
	both := model(func(columns []inputs.NamedTensor, i int) map[string]*tensor.Tensor {
		return map[string]*tensor.Tensor{"y/probabilities": ofScore(columns, i)["probabilities"], "z/predictions": columns[0].Row(i)}
	})
	two := run(t, both, o, append(columns, inputs.Slice("z", inputs.Label, s))...)
	if len(two.Heads) != 2 || im.ScoreOf != "" || two.Importance.ScoreOf != two.Heads[0].Label {
		t.Errorf("two heads: the score is of %q, with one of %q", two.Importance.ScoreOf, im.ScoreOf)
	}
	if alone := run(t, ofScore, o, columns[0], columns[2]); alone.Importance != nil || len(alone.Notes) != 1 {
		t.Errorf("one input: got %+v", alone)
	}
}
