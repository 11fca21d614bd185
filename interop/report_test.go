package interop_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// reported is the part of a report about a binary classifier.
type reported struct {
	Evaluation struct {
		Heads []struct {
			Classification struct {
				CrossEntropy    float64 `json:"cross_entropy"`
				ConfusionMatrix [][]int `json:"confusion_matrix"`
				Curves          []struct {
					ROCAUC           float64 `json:"roc_auc"`
					AveragePrecision float64 `json:"average_precision"`
					BrierScore       float64 `json:"brier_score"`
					Calibration      []struct{ Predicted, True float64 }
				}
			}
		}
		Importance struct {
			Repeats    int
			ScoreValue float64 `json:"score_value"`
			Inputs     []struct {
				Name      string
				Drop      float64 `json:"score_drop"`
				Deviation float64 `json:"score_drop_deviation"`
			}
		}
	}
}

// peerScores are scikit-learn's scores.
type peerScores struct {
	ROCAUC           float64   `json:"roc_auc"`
	AveragePrecision float64   `json:"average_precision"`
	BrierScore       float64   `json:"brier_score"`
	CrossEntropy     float64   `json:"cross_entropy"`
	True             []float64 `json:"true"`
	Predicted        []float64 `json:"predicted"`
	ConfusionMatrix  [][]int   `json:"confusion_matrix"`
}

// reportOf trains, and returns the report and the arguments that identify the model.
func reportOf(t *testing.T, args ...string) (r reported, model []string) {
	t.Helper()
	model = append(args, "--set", "model_dir="+filepath.Join(t.TempDir(), "model"))
	goestimator(t, append([]string{"train", "--quiet"}, model...)...)
	out := goestimator(t, append([]string{"report", "--json", "--out", filepath.Join(t.TempDir(), "report.html")}, model...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r, model
}

// TestReportBesideScikitLearn: areas under curves, calibration, losses and confusion matrices in reports equal
// scikit-learn's results for the predictions.
func TestReportBesideScikitLearn(t *testing.T) {
	py, data := sklearn(t), testkit.Shared(t, "data")
	for name, c := range map[string]struct {
		label, positive string
		args            []string
	}{
		"adult":   {"income", ">50K", []string{"--config", "configs/adult_wide_deep.yaml", "--set", "train.max_steps=200"}},
		"titanic": {"survived", "1", []string{"--config", "configs/titanic_boosted_trees.yaml", "--set", "model.params.n_trees=20"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, model := reportOf(t, append(c.args, "--set", "data_dir="+filepath.Join(data, name))...)
			predictions := filepath.Join(t.TempDir(), "predictions.csv")
			goestimator(t, append([]string{"predict", "--quiet", "--output", predictions, "--set", "predict.columns=[" + c.label + "]"}, model...)...)
			var want peerScores
			if err := json.Unmarshal([]byte(py.run(t, "report_scores.py", "scores", predictions, c.label, c.positive)), &want); err != nil {
				t.Fatal(err)
			}
			got := r.Evaluation.Heads[0].Classification
			curve := got.Curves[0]
			have := peerScores{curve.ROCAUC, curve.AveragePrecision, curve.BrierScore, got.CrossEntropy, nil, nil, got.ConfusionMatrix}
			for _, b := range curve.Calibration {
				have.True, have.Predicted = append(have.True, b.True), append(have.Predicted, b.Predicted)
			}
			if !allNear(have.numbers(), want.numbers()) || !reflect.DeepEqual(have.ConfusionMatrix, want.ConfusionMatrix) {
				t.Errorf("got %+v\nexpected %+v", have, want)
			}
		})
	}
}

func (p peerScores) numbers() []float64 {
	return append(append([]float64{p.ROCAUC, p.AveragePrecision, p.BrierScore, p.CrossEntropy}, p.True...), p.Predicted...)
}

// allNear reports whether numbers are equal, allowing for probabilities rounded to float32.
func allNear(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= 1e-6) {
			return false
		}
	}
	return true
}

// TestImportanceBesideNumPy: permuting a column with NumPy lowers the accuracy as much as the report says, allowing for
// the variation between permutations.
func TestImportanceBesideNumPy(t *testing.T) {
	py, data := sklearn(t), testkit.Shared(t, "data/titanic")
	r, model := reportOf(t, "--config", "configs/titanic_boosted_trees.yaml", "--set", "model.params.n_trees=20", "--set", "data_dir="+data)
	const repeats = 5
	compared := 0
	for _, input := range r.Evaluation.Importance.Inputs {
		if input.Name != "sex" && input.Name != "pclass" && input.Name != "embarked" {
			continue
		}
		tables := filepath.Join(t.TempDir(), "t")
		py.run(t, "report_scores.py", "permute", filepath.Join(data, "titanic3.csv"), input.Name, strconv.Itoa(repeats), tables)
		var accuracies []float64
		for i := range repeats + 1 {
			table, predictions := tables+strconv.Itoa(i)+".csv", filepath.Join(t.TempDir(), "p.csv")
			goestimator(t, append([]string{"predict", "--quiet", "--input", table, "--output", predictions}, model...)...)
			accuracies = append(accuracies, agreement(t, columnOf(t, predictions, "classes", ','), columnOf(t, table, "survived", ',')))
		}
		if math.Abs(accuracies[0]-r.Evaluation.Importance.ScoreValue) > 1e-9 {
			t.Fatalf("accuracy %v, the report has %v: not the same rows", accuracies[0], r.Evaluation.Importance.ScoreValue)
		}
		mean := 0.0
		for _, a := range accuracies[1:] {
			mean += (accuracies[0] - a) / repeats
		}
		if allowed := 4*input.Deviation/math.Sqrt(repeats)*math.Sqrt2 + 0.005; math.Abs(mean-input.Drop) > allowed {
			t.Errorf("%s: a drop of %v, expected %v within %v", input.Name, input.Drop, mean, allowed)
		}
		compared++
		t.Logf("%s: %v +- %v, of NumPy's permutations %v", input.Name, input.Drop, input.Deviation, mean)
	}
	if compared != 3 {
		t.Errorf("%d of 3 inputs are in the report: %+v", compared, r.Evaluation.Importance)
	}
}

// agreement is the share of equal texts.
func agreement(t *testing.T, a, b []string) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d and %d rows", len(a), len(b))
	}
	n := 0.0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n / float64(len(a))
}
