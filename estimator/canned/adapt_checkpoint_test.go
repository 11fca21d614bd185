package canned_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// trainWith trains a step with columns in a folder and returns its checkpoint.
func trainWith(t *testing.T, dir string, specs []feature.Spec, rows string) string {
	t.Helper()
	a := canned.Adaptation{ModelDir: dir, Data: csvOf(t, rows)}
	set, kept, err := a.Columns(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	params := estimator.Params{"feature_columns": []any{"age", "present"}, "hidden_units": 2}
	e := ok(estimator.New(ok(canned.Named("dnn_classifier", params, set)), kept, estimator.WithModelDir(dir)))
	ok(e.Train(t.Context(), estimator.InputFunc(func(ctx context.Context, _ inputs.Context) (inputs.Dataset, error) { return a.Data(ctx) }), estimator.Steps(1)))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	return ok(e.LatestCheckpoint())
}

// unadapted is a set of columns that take nothing from data.
var unadapted = []feature.Spec{
	{Name: "age", Type: "numeric", Key: "age"},
	{Name: "trade", Type: "vocabulary", Key: "trade", Vocabulary: []string{"baker", "nurse"}},
	{Name: "present", Type: "indicator", Of: "trade"},
}

// TestTrainedWithoutAdaptation: weights that were trained with other columns do not silently get adapted columns.
func TestTrainedWithoutAdaptation(t *testing.T) {
	dir := t.TempDir()
	prefix := trainWith(t, dir, unadapted, someRows)
	data := csvOf(t, otherRows)
	for name, a := range map[string]canned.Adaptation{
		"model_dir": {ModelDir: dir, Data: data},
		"a chief":   {ModelDir: dir, Data: data, Share: true},
		"a prefix":  {ModelDir: t.TempDir(), Checkpoint: prefix, Data: data},
		"no prefix": {ModelDir: t.TempDir(), Checkpoint: prefix + "0", Data: data},
	} {
		want := "trained without columns that are adapted to data: declare the columns as they were then"
		if name == "no prefix" {
			want = "could not find trained model"
		}
		if _, _, err := a.Columns(t.Context(), adapted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %s", name, err, want)
		}
	}
}

// TestWarmStartAdapts: columns that a warm start does not have are adapted to the data, and the log says so.
func TestWarmStartAdapts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.safetensors")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	without, with := t.TempDir(), t.TempDir()
	trainWith(t, without, unadapted, someRows)
	trainWith(t, with, adapted, someRows)
	for from, want := range map[string]string{
		file:    `numeric(age, mean=[2], `,
		without: `numeric(age, mean=[2], `,
	} {
		var log bytes.Buffer
		a := canned.Adaptation{ModelDir: t.TempDir(), WarmStart: from, Data: csvOf(t, otherRows), Log: slog.New(slog.NewTextHandler(&log, nil))}
		if got := columnsOf(t, a); !strings.HasPrefix(got, want) || !strings.Contains(log.String(), "adapted anew") {
			t.Errorf("warm start from %s: columns %s, log %s", from, got, log.String())
		}
	}
	more := append([]feature.Spec{adapted[0], {Name: "ages", Type: "bucketized", Of: "age", Quantiles: 2}}, adapted[1:]...)
	set, kept, err := canned.Adaptation{ModelDir: t.TempDir(), WarmStart: with, Data: csvOf(t, otherRows)}.Columns(t.Context(), more)
	if err != nil || kept == nil {
		t.Fatal(err)
	}
	c := ok(set.Columns("age", "ages", "trade"))
	for i, want := range []string{"numeric(age, mean=[30], std=[10])", "[-2.799", `vocabulary(trade, ["baker" "nurse"])`} {
		if !strings.Contains(c[i].String(), want) {
			t.Errorf("column %s, expected %s", c[i], want)
		}
	}
	other := append([]feature.Spec{{Name: "age", Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Adapt: true, Scale: 2}}}, adapted[1:]...)
	if set, _, err = (canned.Adaptation{ModelDir: t.TempDir(), WarmStart: with, Data: csvOf(t, otherRows)}).Columns(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got := ok(set.Columns("age"))[0].String(); !strings.Contains(got, "mean=[1]") {
		t.Errorf("a column that is declared otherwise: %s", got)
	}
}

// TestEvaluatorTakesCheckpoint: a task that waits for the chief's file takes a checkpoint that appears instead.
func TestEvaluatorTakesCheckpoint(t *testing.T) {
	trained, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	trainWith(t, trained, adapted, someRows)
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error)
		go func() {
			_, _, err := canned.Adaptation{ModelDir: dir, Share: true, Follow: true}.Columns(t.Context(), adapted)
			done <- err
		}()
		synctest.Wait()
		if err := os.Rename(trained, dir); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestChiefFails: the other tasks give up with the chief's error, unless it is started again in time.
func TestChiefFails(t *testing.T) {
	dir := t.TempDir()
	chief := canned.Adaptation{ModelDir: dir, Share: true, Identity: "rows", Data: csvOf(t, "")}
	if _, _, err := chief.Columns(t.Context(), adapted); err == nil {
		t.Fatal("empty data: no error")
	}
	follower := canned.Adaptation{ModelDir: dir, Share: true, Follow: true, Identity: "rows"}
	synctest.Test(t, func(t *testing.T) {
		if _, _, err := follower.Columns(t.Context(), adapted); err == nil || !strings.Contains(err.Error(), "the chief could not adapt feature columns: ") || !strings.Contains(err.Error(), "data set is empty") {
			t.Errorf("a follower: %v", err)
		}
	})
	chief.Data = csvOf(t, someRows)
	if a, b := columnsOf(t, chief), columnsOf(t, follower); a != b || !strings.Contains(a, "baker") {
		t.Errorf("a chief that is started again: columns %s, the follower's are %s", a, b)
	}
	var log bytes.Buffer
	chief.Log = slog.New(slog.NewTextHandler(&log, nil))
	if columnsOf(t, chief); !strings.Contains(log.String(), "adapted_columns.json") {
		t.Errorf("a file that is kept: log %q", log.String())
	}
}

// TestFollowerOfAnotherConfig: a task that waits in vain logs the difference. Other folders of the same files are no difference.
func TestFollowerOfAnotherConfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) []feature.Spec {
		return append([]feature.Spec{{Name: "town", Type: "vocabulary_file", Key: "town", File: filepath.Join(dir, name), Size: 1}}, adapted...)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := (canned.Adaptation{ModelDir: dir, Share: true, Identity: "rows", Data: csvOf(t, someRows)}).Columns(t.Context(), file("a")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (canned.Adaptation{ModelDir: dir, Share: true, Follow: true, Identity: "rows"}).Columns(t.Context(), file("b")); err != nil {
		t.Error(err)
	}
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15e9)
		defer cancel()
		a := canned.Adaptation{ModelDir: dir, Share: true, Follow: true, Identity: "others", Log: slog.New(slog.NewTextHandler(&log, nil))}
		if _, _, err := a.Columns(ctx, file("b")); err == nil {
			t.Error("no error")
		}
	})
	if !strings.Contains(log.String(), "is of another config: it has input rows") {
		t.Errorf("log %q", log.String())
	}
}
