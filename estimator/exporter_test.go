package estimator_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/runconfig"
)

// toyColumns are toyData's columns.
func toyColumns(t *testing.T) []inputs.Column {
	t.Helper()
	ds, err := (&toyData{}).Input(context.Background(), inputs.Context{})
	if err != nil {
		t.Fatal(err)
	}
	return ds.Schema().Columns()
}

func exported(t *testing.T, base string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(base, "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// atSteps makes exporters at steps.
func atSteps(steps ...int64) func(estimator.ExporterOptions) (estimator.Exporter, error) {
	return func(o estimator.ExporterOptions) (estimator.Exporter, error) {
		return estimator.NewStepsExporter(o, steps...)
	}
}

func TestExporters(t *testing.T) {
	serving := estimator.RawServingInput(toyColumns(t)...)
	for name, c := range map[string]struct {
		make     func(o estimator.ExporterOptions) (estimator.Exporter, error)
		keep     int
		first    int // exports that a training to step 12 leaves; it evaluates steps 5, 10 and 12
		reported int // the exports it reports
	}{
		"final":  {make: estimator.NewFinalExporter, first: 1, reported: 1},
		"latest": {make: estimator.NewLatestExporter, keep: 2, first: 2, reported: 3},
		"best": {make: func(o estimator.ExporterOptions) (estimator.Exporter, error) {
			return estimator.NewBestExporter(o, "", false)
		}, keep: -1, first: 3, reported: 3},
		"highest": {make: func(o estimator.ExporterOptions) (estimator.Exporter, error) {
			return estimator.NewBestExporter(o, "loss", true)
		}, first: 1, reported: 1},
		"steps":                {make: atSteps(3, 4, 11, 100), first: 2, reported: 2},
		"exactly at a step":    {make: atSteps(5), first: 1, reported: 1},
		"just before a step":   {make: atSteps(6), first: 1, reported: 1},
		"exactly at the end":   {make: atSteps(12), first: 1, reported: 1},
		"at two steps exactly": {make: atSteps(5, 10), first: 2, reported: 2},
		"step 0":               {make: atSteps(0), first: 1, reported: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x, err := c.make(estimator.ExporterOptions{Name: name, Serving: serving, Keep: c.keep})
			if err != nil {
				t.Fatal(err)
			}
			run := func() estimator.Result {
				rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.SaveCheckpointsSteps(5))
				if err != nil {
					t.Fatal(err)
				}
				e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				res, err := estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 12},
					estimator.EvalSpec{Input: &toyData{}, Exporters: []estimator.Exporter{x}})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			res := run()
			base := filepath.Join(dir, "export", name)
			left := exported(t, base)
			if len(left) != c.first || len(res.Exports) != c.reported || filepath.Base(res.Exports[c.reported-1]) != filepath.Base(left[len(left)-1]) {
				t.Fatalf("exports %v, reported %v: expected %d and %d of them, the newest the same", left, res.Exports, c.first, c.reported)
			}
			if _, err := savedmodel.Read(left[0], savedmodel.Limits{}); err != nil {
				t.Error(err)
			}
			again := run()
			if after := exported(t, base); !slices.Equal(after, left) {
				t.Errorf("a run that had nothing to do left %v, before it there were %v", after, left)
			}
			if name == "final" && !slices.Equal(again.Exports, res.Exports) {
				t.Errorf("reported %v, expected %v", again.Exports, res.Exports)
			}
			if temp, _ := filepath.Glob(filepath.Join(base, "temp-*")); len(temp) > 0 {
				t.Errorf("left over: %v", temp)
			}
		})
	}
}

// TestBestExporterRemembers: another run knows the best evaluation from the state or, for
// exports of other programs, from the events.
func TestBestExporterRemembers(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	e := toy(t, dir)
	if _, err := e.Train(ctx, &toyData{}, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "export", "best")
	evaluation := func(step int64, accuracy float64) estimator.Evaluation {
		prefix, err := e.LatestCheckpoint()
		if err != nil {
			t.Fatal(err)
		}
		return estimator.Evaluation{EvalResult: estimator.EvalResult{GlobalStep: step, Checkpoint: prefix,
			Metrics: map[string]metrics.Value{"accuracy": {Data: []float64{accuracy}}}}}
	}
	export := func(step int64, accuracy float64) string {
		x, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "best", Serving: estimator.RawServingInput(toyColumns(t)...)}, "accuracy", true)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x.Export(ctx, e, base, evaluation(step, accuracy))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := export(10, 0.5)
	if first == "" || export(20, 0.4) != "" || export(30, 0.5) != "" {
		t.Error("expected an export of the first evaluation alone: the others are not better")
	}
	if export(40, 0.6) == "" {
		t.Error("expected an export of a better one")
	}
	if err := os.WriteFile(filepath.Join(base, "exporter.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "best", Serving: estimator.RawServingInput(toyColumns(t)...)}, "auc", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Export(ctx, e, base, evaluation(50, 1)); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("damaged state: got %v", err)
	}
	if err := os.Remove(filepath.Join(base, "exporter.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Export(ctx, e, base, evaluation(50, 1)); err == nil || !strings.Contains(err.Error(), `no scalar metric "auc": expected one of [accuracy]`) {
		t.Errorf("unknown metric: got %v", err)
	}
}

// TestBestExporterOfOddMetrics: a value that is not finite is never the best, and
// values of different metrics are not compared.
func TestBestExporterOfOddMetrics(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	e := toy(t, dir)
	if _, err := e.Train(ctx, &toyData{}, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	prefix, err := e.LatestCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	step := int64(0)
	export := func(metric string, higher bool, value float64) bool {
		t.Helper()
		x, err := estimator.NewBestExporter(estimator.ExporterOptions{Name: "best", Serving: estimator.RawServingInput(toyColumns(t)...)}, metric, higher)
		if err != nil {
			t.Fatal(err)
		}
		step++
		made, err := x.Export(ctx, e, filepath.Join(dir, "export", "best"), estimator.Evaluation{EvalResult: estimator.EvalResult{GlobalStep: step, Checkpoint: prefix,
			Metrics: map[string]metrics.Value{metric: {Data: []float64{value}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return made != ""
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if export("loss", false, v) {
			t.Errorf("loss %v was exported", v)
		}
	}
	for _, c := range []struct {
		metric string
		higher bool
		value  float64
		want   bool
	}{
		{"loss", false, 0.2, true}, {"loss", false, 0.2, false}, {"loss", false, 0.19, true},
		{"accuracy", true, 0.1, true}, {"accuracy", true, 0.1, false}, {"accuracy", true, 0.05, false}, {"accuracy", true, 0.11, true},
		{"accuracy", false, 0.5, true}, {"accuracy", false, 0.5, false}, {"accuracy", false, 0.6, false},
	} {
		if got := export(c.metric, c.higher, c.value); got != c.want {
			t.Errorf("%+v: exported: %v", c, got)
		}
	}
}

// TestExporterCleansUp: the remains of killed exports are removed after a day. A deleted
// checkpoint is an error only for the last evaluation.
func TestExporterCleansUp(t *testing.T) {
	dir := t.TempDir()
	e := toy(t, dir)
	if _, err := e.Train(context.Background(), &toyData{}, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "export", "latest")
	for name, age := range map[string]time.Duration{"temp-1700000000-1-2": 48 * time.Hour, "temp-removed-1700000000": 48 * time.Hour, "temp-1700000000-1-3": time.Hour, "other": 48 * time.Hour} {
		if err := os.MkdirAll(filepath.Join(base, name, "variables"), 0o755); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(base, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	x, err := estimator.NewLatestExporter(estimator.ExporterOptions{Name: "latest", Serving: estimator.RawServingInput(toyColumns(t)...), Keep: -1})
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := e.LatestCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	ev := estimator.Evaluation{EvalResult: estimator.EvalResult{GlobalStep: 1, Checkpoint: prefix}}
	made := map[string]bool{}
	for _, restored := range []bool{false, false, true, true} { // the step's other weights are exported, too
		ev.Restored = restored
		dir, err := x.Export(context.Background(), e, base, ev)
		if err != nil {
			t.Fatal(err)
		}
		made[dir] = true
	}
	if len(made) != 2 {
		t.Errorf("exports %v, expected one of the step's own weights and one of the best", made)
	}
	ev.Restored = false
	if names, _ := filepath.Glob(filepath.Join(base, "[a-z]*")); len(names) != 3 {
		t.Errorf("left are %v, expected the state, the young directory, and the other", names)
	}
	ev.GlobalStep, ev.Checkpoint = 2, filepath.Join(dir, "model.ckpt-2")
	if made, err := x.Export(context.Background(), e, base, ev); err != nil || made != "" {
		t.Errorf("a deleted checkpoint: got %q, %v", made, err)
	}
	ev.Final = true
	if _, err := x.Export(context.Background(), e, base, ev); err == nil {
		t.Error("a deleted last checkpoint: expected an error")
	}
}

func TestExporterOptions(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", ".hidden"} {
		if _, err := estimator.NewLatestExporter(estimator.ExporterOptions{Name: name}); err == nil {
			t.Errorf("name %q: expected an error", name)
		}
	}
	if _, err := estimator.NewLatestExporter(estimator.ExporterOptions{Name: "a", Keep: -2}); err == nil {
		t.Error("keep -2: expected an error")
	}
	if _, err := estimator.NewStepsExporter(estimator.ExporterOptions{Name: "a"}); err == nil {
		t.Error("no steps: expected an error")
	}
	if _, err := estimator.NewStepsExporter(estimator.ExporterOptions{Name: "a"}, 3, -1); err == nil {
		t.Error("a negative step: expected an error")
	}
	e := toy(t, t.TempDir())
	x, err := estimator.NewFinalExporter(estimator.ExporterOptions{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{Input: &toyData{}}, estimator.EvalSpec{Input: &toyData{}, Exporters: []estimator.Exporter{x, x}})
	if err == nil || !strings.Contains(err.Error(), "exporters must have names") {
		t.Errorf("two exporters of one name: got %v", err)
	}
}
