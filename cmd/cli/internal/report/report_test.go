package report

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/report/echarts"
	"github.com/goestimator/goestimator/tensor"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
)

const evil = `</script><script>alert("x")</script>`

// modelDir makes a folder like the ones that training writes.
func modelDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	weights, err := tensor.FromSlice([]float32{1, 2, 3, 4}, 4)
	if err != nil {
		t.Fatal(err)
	}
	h, err := summary.Histogram("weights", weights)
	if err != nil {
		t.Fatal(err)
	}
	w := summary.NewFileWriter(dir, summary.Options{})
	err = errors.Join(w.Scalar(1, "loss", 2), w.Scalar(2, "loss", math.NaN()), w.Scalar(3, "loss", 1), w.Scalar(3, evil, 1), w.Values(3, h), w.Close())
	e := summary.NewFileWriter(filepath.Join(dir, "eval"), summary.Options{})
	err = errors.Join(err, e.Scalar(1, "accuracy", 0.5), e.Scalar(2, "accuracy", 0.75), e.Scalar(3, "accuracy", 0.625), e.Close())
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("seed: 7 # "+evil), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPage(t *testing.T) {
	r, err := Collect(modelDir(t))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.Write(&page); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(page.String(), echarts.Script, "", 1)
	if len(text) == page.Len() {
		t.Error("ECharts is not in the page")
	}
	for _, want := range []string{"seed: 7", "0.625", "0.75", `draw("scalar0"`, `draw("histogram0"`, "global step 3", "[2,\"-\"]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, evil) {
		t.Error("names and texts are not escaped")
	}
	if found := regexp.MustCompile(`(src|href)="?(https?:)?//`).FindString(text); found != "" {
		t.Errorf("the page loads something: %s", found)
	}
}

// TestClasses: the page has a table and a chart of the last confusion matrix; class names are escaped.
func TestClasses(t *testing.T) {
	dir := modelDir(t)
	matrix := func(v ...float64) *summary.Value {
		m, err := tensor.FromSlice(v, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		s, err := summary.Tensor("confusion_matrix", "", m)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w := summary.NewFileWriter(filepath.Join(dir, "eval"), summary.Options{})
	if err := errors.Join(w.Values(1, matrix(9, 9, 9, 9)), w.Values(3, matrix(6, 2, 1, 1)), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.ClassNames = []string{"cat", evil}
	tables, err := r.classTables()
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, error %v", len(tables), err)
	}
	want := []classRow{{"cat", "0.85714", "0.75", "0.8", "8"}, {evil, "0.33333", "0.5", "0.4", "2"}}
	if got := tables[0].Rows; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, expected %v", got, want)
	}
	var page bytes.Buffer
	if err := r.Write(&page); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(page.String(), echarts.Script, "", 1)
	for _, want := range []string{"confusion_matrix of eval, step 3", `draw("matrix0"`, `"heatmap"`, "[1,0,2]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, evil) {
		t.Error("a name of a class is code in the page")
	}
}

func TestMetrics(t *testing.T) {
	r, err := Collect(modelDir(t))
	if err != nil {
		t.Fatal(err)
	}
	want := MetricRange{Run: "eval", Name: "accuracy", Last: 0.625, Step: 3, Lowest: 0.5, LowestStep: 1, Highest: 0.75, HighestStep: 2}
	if got := r.metrics(); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, expected %+v", got, want)
	}
}

func TestMetricOfNaNs(t *testing.T) {
	tag := events.Tag{Name: "auc", Kind: events.Scalar, Points: []events.Point{{Step: 5, Scalar: math.NaN()}, {Step: 9, Scalar: math.NaN()}}}
	got := newMetric("eval", tag)
	if got.Last == got.Last || got.Lowest == got.Lowest || got.Highest == got.Highest || got.Step != 9 || got.LowestStep != 9 || got.HighestStep != 9 {
		t.Errorf("got %+v, expected NaN at step 9", got)
	}
}

func TestNothing(t *testing.T) {
	if _, err := Collect(t.TempDir()); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v, expected ErrNothing", err)
	}
}

func TestQuantile(t *testing.T) {
	h := &summarypb.HistogramProto{Min: 0, Max: 4, Num: 4, BucketLimit: []float64{1, 2, 3, math.MaxFloat64}, Bucket: []float64{1, 1, 1, 1}}
	for q, want := range map[float64]float64{0: 0, 0.5: 2, 0.625: 2.5, 1: 4} {
		if got := quantile(h, q); got != want {
			t.Errorf("quantile %g: got %g, expected %g", q, got, want)
		}
	}
	if got := quantile(&summarypb.HistogramProto{}, 0.5); got != 0 {
		t.Errorf("empty histogram: got %g", got)
	}
	if got := quantile(&summarypb.HistogramProto{Max: 3, Num: 2, Bucket: []float64{1, 1}}, 0.5); got != 3 {
		t.Errorf("buckets without limits: got %g", got)
	}
}
