package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/internal/report/echarts"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
)

// TestEvaluation: curves, tables, worst predictions and importance are on the page, and texts from the data are escaped.
func TestEvaluation(t *testing.T) {
	dir := modelDir(t)
	trace := `{"traceEvents":[{"name":"input and hooks","cat":"loop","dur":500},{"name":"step","cat":"loop","dur":2000},{"name":"a","cat":"MatMul","dur":1000},{"name":"b","cat":"MatMul","dur":500}]}`
	if err := os.WriteFile(filepath.Join(dir, "profile.json"), []byte(trace), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	nan := assess.Number(math.NaN())
	r.Checkpoint, r.DataName = "model.ckpt-3", "eval.input"
	r.Evaluation = &assess.Result{Rows: 4, More: true, LeftOut: map[string]int64{"a prediction is not finite": 1}, Heads: []assess.Head{
		{Label: evil, Kind: assess.KindBinaryClass, Loss: "cross-entropy", Classes: &assess.Classes{Accuracy: 0.5, MacroAUC: nan, Names: []string{"no", evil},
			Curves:    []assess.Curves{{Class: evil, Positives: 2, Negatives: 2, ROCAUC: 0.75, AveragePrecision: nan, ROC: [][2]float64{{0, 0}, {0.5, 1}, {1, 1}}}},
			Confusion: [][]float64{{1, 1}, {0, 2}}},
			Worst: []assess.Example{{Row: 3, Loss: 2.5, Label: evil, Predicted: evil, Inputs: []assess.Value{{Name: evil, Text: evil}, {Name: "image", PNG: []byte{1, 2, 3}}}}}},
		{Label: "y", Kind: assess.KindRegression, Loss: "squared error", Regression: &assess.Residuals{RMSE: 1.5, R2: nan, Sample: [][2]float64{{1, 2}, {3, 2.5}}, Of: 9,
			Histogram: []assess.Bar{{From: 0, To: 1, Weight: 2}}}},
		{Label: "none", Kind: assess.KindRegression, Regression: &assess.Residuals{}},
	}, Importance: &assess.Importance{Rows: 4, Repeats: 2, Score: "accuracy", ScoreOf: "y", Inputs: []assess.Input{{Name: evil, LossRise: 0.25}}}}
	var page bytes.Buffer
	if err := r.Write(&page); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(page.String(), echarts.Script, "", 1)
	for _, want := range []string{"The first 4 rows of eval.input by model.ckpt-3", "Left out: 1, since a prediction is not finite", `draw("head0roc"`, `draw("head0pr"`, `draw("head0calibration"`,
		`draw("head0matrix"`, "data:image/png;base64,AQID", `draw("head1actual"`, `draw("head1residual"`, `draw("head1residuals"`, "2 of 9 values", `draw("importance"`, `draw("steptime"`, "outside of ops", "[0.5,1]",
		"the sum of all losses rises, and accuracy of y falls", "fall of accuracy of y", `<nav aria-label="contents">`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, evil) {
		t.Error("texts of the data are code in the page")
	}
	b, err := json.Marshal(r.Numbers("report.html"))
	if err != nil || !strings.Contains(string(b), `"roc_auc":0.75,"average_precision":null`) || !strings.Contains(string(b), `"step_ms":2`) {
		t.Errorf("as JSON: %s, error %v", b, err)
	}
}

// A trace that cannot be read does not affect the rest of the report.
func TestDamagedTrace(t *testing.T) {
	dir := modelDir(t)
	if err := os.WriteFile(filepath.Join(dir, "profile.json"), []byte("[1,"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Collect(dir)
	if err != nil || r.Damage == nil || r.Step != nil {
		t.Errorf("got %v, damage %v", err, r.Damage)
	}
	if err := r.Write(&bytes.Buffer{}); err != nil || errors.Is(r.Damage, ErrNothing) {
		t.Errorf("got %v", err)
	}
}

// A column of a heat map contains the whole histogram; each bucket is spread evenly over its rows.
func TestHeatColumn(t *testing.T) {
	for name, c := range map[string]struct {
		h         *summarypb.HistogramProto
		low, high float64
		first     float64
	}{
		"even":            {&summarypb.HistogramProto{Min: 0, Max: 32, Num: 32, BucketLimit: []float64{16, math.MaxFloat64}, Bucket: []float64{16, 16}}, 0, 32, 1. / 32},
		"below and above": {&summarypb.HistogramProto{Min: -9, Max: 40, Num: 2, BucketLimit: []float64{-8, 40}, Bucket: []float64{1, 1}}, 0, 1, (1 + (8+1./32)/48) / 2},
		"one value":       {&summarypb.HistogramProto{Min: 3, Max: 3, Num: 5, BucketLimit: []float64{3, 4}, Bucket: []float64{0, 5}}, 3, 4, 1},
	} {
		got, sum := heatColumn(c.h, c.low, c.high), 0.0
		for _, x := range got {
			sum += x
		}
		if math.Abs(got[0]-c.first) > 1e-9 || math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: first %g, sum %g, expected %g", name, got[0], sum, c.first)
		}
	}
}
