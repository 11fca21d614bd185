package canned_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// adapted are columns that take something from data.
var adapted = []feature.Spec{
	{Name: "age", Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Adapt: true}},
	{Name: "trade", Type: "vocabulary", Key: "trade", Adapt: true},
	{Name: "present", Type: "indicator", Of: "trade"},
}

// csvOf opens rows of age, trade and label.
func csvOf(t *testing.T, rows string) func(context.Context) (inputs.Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) (inputs.Dataset, error) {
		spec := inputs.DefaultSpec()
		spec.Format, spec.Files, spec.BatchSize = "csv", []string{path}, 2
		spec.Columns = []inputs.ColumnSpec{{Name: "age"}, {Name: "trade", DType: "string"}, {Name: "rich", Role: inputs.Label}}
		return inputs.Open(ctx, spec, inputs.Context{NumPipelines: 1, ReplicasInSync: 1})
	}
}

const (
	someRows  = "20,baker,0\n40,nurse,1\n"
	otherRows = "1,smith,0\n2,clerk,1\n3,judge,1\n"
)

func columnsOf(t *testing.T, a canned.Adaptation) string {
	t.Helper()
	set, _, err := a.Columns(t.Context(), adapted)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range ok(set.Columns(set.Names()...)) {
		out = append(out, c.String())
	}
	return strings.Join(out, "; ")
}

// TestAdaptedOnce: what was taken from data is in the checkpoint, also for a model that is warm-started from it; the data
// is not read again.
func TestAdaptedOnce(t *testing.T) {
	dir := t.TempDir()
	first := canned.Adaptation{ModelDir: dir, Data: csvOf(t, someRows)}
	prefix := trainWith(t, dir, adapted, someRows)
	want := `numeric(age, mean=[30], std=[10]); vocabulary(trade, ["baker" "nurse"]); indicator(vocabulary(trade, ["baker" "nurse"]))`
	if got := columnsOf(t, first); got != want {
		t.Errorf("columns %s, expected %s", got, want)
	}
	for name, a := range map[string]canned.Adaptation{
		"another start":   {ModelDir: dir, Data: csvOf(t, otherRows)},
		"no data":         {ModelDir: dir},
		"a follower":      {ModelDir: dir, Share: true, Follow: true},
		"a prefix":        {ModelDir: t.TempDir(), Checkpoint: prefix},
		"a warm start":    {ModelDir: t.TempDir(), WarmStart: dir, Data: csvOf(t, otherRows)},
		"a second folder": {ModelDir: dir, WarmStart: t.TempDir(), Data: csvOf(t, otherRows)},
	} {
		if got := columnsOf(t, a); got != want {
			t.Errorf("%s: columns %s, expected %s", name, got, want)
		}
	}
	if got := columnsOf(t, canned.Adaptation{ModelDir: t.TempDir(), WarmStart: t.TempDir(), Data: csvOf(t, otherRows)}); !strings.Contains(got, "smith") {
		t.Errorf("no checkpoint: columns %s, expected some of the data", got)
	}
}

// TestChiefAdapts: one of several tasks reads the data, and the others wait for the result.
func TestChiefAdapts(t *testing.T) {
	dir := t.TempDir()
	got := make([]string, 4)
	var tasks sync.WaitGroup
	for i := range got {
		tasks.Go(func() {
			a := canned.Adaptation{ModelDir: dir, Share: true, Follow: i != 3, Identity: "some rows"}
			if i == 3 {
				a.Data = csvOf(t, someRows)
			}
			got[i] = columnsOf(t, a)
		})
	}
	tasks.Wait()
	for i, g := range got {
		if g != got[3] || !strings.Contains(g, "baker") {
			t.Errorf("task %d: columns %s, the chief's are %s", i, g, got[3])
		}
	}
	again := canned.Adaptation{ModelDir: dir, Share: true, Identity: "some rows", Data: csvOf(t, otherRows)}
	if g := columnsOf(t, again); g != got[3] {
		t.Errorf("a chief that is started again: columns %s, expected %s", g, got[3])
	}
	again.Identity = "other rows"
	if g := columnsOf(t, again); !strings.Contains(g, "smith") {
		t.Errorf("other data: columns %s", g)
	}
}

func TestAdaptationRefuses(t *testing.T) {
	if _, _, err := (canned.Adaptation{ModelDir: t.TempDir()}).Columns(t.Context(), adapted); err == nil || !strings.Contains(err.Error(), "set train.input") {
		t.Errorf("no data: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (canned.Adaptation{ModelDir: t.TempDir(), Share: true, Follow: true}).Columns(ctx, adapted); !errors.Is(err, context.Canceled) {
		t.Errorf("a follower that is cancelled: %v", err)
	}
	if _, _, err := (canned.Adaptation{Data: csvOf(t, "")}).Columns(t.Context(), adapted); !errors.Is(err, inputs.ErrEmpty) {
		t.Errorf("empty data: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "adapted_columns.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (canned.Adaptation{ModelDir: dir, Share: true, Follow: true}).Columns(t.Context(), adapted); err == nil || !strings.Contains(err.Error(), "adapted_columns.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
