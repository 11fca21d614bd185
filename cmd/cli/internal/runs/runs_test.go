package runs_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/runs"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/google/go-cmp/cmp"
)

// put writes files with contents below a folder.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// scalars writes events with values of a tag.
func scalars(t *testing.T, dir, tag string, values ...float64) {
	t.Helper()
	w := summary.NewFileWriter(dir, summary.Options{})
	for i, x := range values {
		if err := w.Scalar(int64(i+1), tag, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"a/state.json": "{}", "a/export/best/1/checkpoint": "", "sweep/trials/0001/state.json": "{}", "sweep/sweep.jsonl": "", "other/x": "", ".hidden/state.json": "{}"})
	for _, dir := range []string{"a/eval", "b", "b/eval_test", "b/more", "eval"} {
		scalars(t, filepath.Join(root, dir), "loss", 1)
	}
	found, err := runs.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, dir := range found {
		names = append(names, runs.Name(root, dir))
	}
	if d := cmp.Diff([]string{"a", "b", "sweep/trials/0001"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if found, err := runs.Find(filepath.Join(root, "nothing")); err != nil || found != nil {
		t.Errorf("a folder that is not there: %v %v", found, err)
	}
	if _, err := runs.Find(filepath.Join(root, "other/x")); err == nil {
		t.Error("a file was taken")
	}
}

func TestLoad(t *testing.T) {
	root := t.TempDir()
	for name, c := range map[string]struct {
		state string
		phase runs.Phase
	}{
		"finished": {`{"finished":{"global_step":9,"reason":"max_steps"}}`, runs.Finished},
		"failed":   {`{"failed":{"code":1,"reason":"NaN loss"}}`, runs.Failed},
		"stopped":  {`{"train_seconds":2}`, runs.Stopped},
		"damaged":  {`{"finished":`, runs.Stopped},
	} {
		dir := filepath.Join(root, name)
		put(t, dir, map[string]string{"state.json": c.state, "config.yaml": "optimizer: {name: adam}\nseed: 7\nlist: [1, 2]\n", ".lock": "1\n"})
		r, err := runs.Load(root, dir)
		if err != nil || r.Name != name || r.Phase != c.phase {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
		if d := cmp.Diff(map[string]string{"optimizer.name": "adam", "seed": "7", "list": "[1,2]"}, r.Config); d != "" {
			t.Errorf("config (-want +got):\n%s", d)
		}
	}
}

func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	scalars(t, dir, "loss", 9, 8)
	scalars(t, filepath.Join(dir, "eval"), "loss", 3, 1, 2, math.NaN())
	scalars(t, filepath.Join(dir, "eval"), "accuracy", 0.5, 0.75, 0.25)
	r, err := runs.Load(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	loss, accuracy := r.Metrics["loss"], r.Metrics["accuracy"]
	if !math.IsNaN(loss.Last) || loss.Best != 1 || loss.BestAt != 2 || loss.Most != 3 || loss.At != 4 {
		t.Errorf("loss %+v", loss)
	}
	if accuracy.Last != 0.25 || accuracy.Best != 0.75 || accuracy.BestAt != 2 || accuracy.Least != 0.25 {
		t.Errorf("accuracy %+v", accuracy)
	}
	if r.Step != 4 || runs.MainMetric([]runs.Run{r}) != "accuracy" {
		t.Errorf("step %d, metric %s", r.Step, runs.MainMetric([]runs.Run{r}))
	}
}

// table has three runs; the last has neither metric nor config.
func table() *runs.Table {
	return &runs.Table{Metric: "accuracy", Runs: []runs.Run{
		{Name: "a", State: runs.State{Phase: runs.Finished, Step: 10}, Metrics: map[string]runs.Metric{"accuracy": {Last: 0.5, Best: 0.9}}, Config: map[string]string{"rate": "0.01", "name": "x"}},
		{Name: "b", State: runs.State{Phase: runs.Running, Step: 20}, Metrics: map[string]runs.Metric{"accuracy": {Last: 0.75, Best: 0.8}}, Config: map[string]string{"rate": "0.1", "kind": "y"}},
		{Name: "c", State: runs.State{Phase: runs.Stopped, Step: -1}, Metrics: map[string]runs.Metric{"accuracy": {Last: math.NaN(), Best: math.NaN()}}},
	}}
}

func names(t *runs.Table) string {
	var out []string
	for _, r := range t.Runs {
		out = append(out, r.Name)
	}
	return strings.Join(out, "")
}

func TestSort(t *testing.T) {
	for _, c := range []struct {
		by      string
		reverse bool
		want    string
	}{{"", false, "abc"}, {"", true, "cba"}, {"best", false, "bac"}, {"best", true, "abc"}, {"accuracy", true, "bac"}, {"step", false, "abc"}, {"step", true, "bac"},
		{"rate", true, "bac"}, {"state", false, "abc"}, {"kind", false, "bac"}} {
		tab := table()
		if err := tab.Sort(c.by, c.reverse); err != nil || names(tab) != c.want {
			t.Errorf("by %q, reverse %t: got %s, error %v, expected %s", c.by, c.reverse, names(tab), err, c.want)
		}
	}
	if err := table().Sort("nothing", false); err == nil || !strings.Contains(err.Error(), "accuracy") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]string{
		"accuracy>0.5": "b", "accuracy>=0.5": "ab", "accuracy<0.75": "a", "accuracy=0.50": "a", "accuracy!=0.5": "bc", "rate<=0.1": "ab", "rate=0.10": "b",
		"state=running": "b", "state!=running": "ac", "kind=y": "b", "kind!=y": "ac", "step>10": "b", "name=a": "a", "best>0.85": "a", "state>1": "", "accuracy=NaN": "c",
	} {
		conditions, err := runs.ParseConditions([]string{text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		tab := table()
		if err := tab.Filter(conditions); err != nil || names(tab) != want {
			t.Errorf("%s: got %q, error %v, expected %q", text, names(tab), err, want)
		}
	}
	for _, text := range []string{"", "accuracy", ">1", "accuracy>", "accuracy>high", "a!b"} {
		if _, err := runs.ParseConditions([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestDiffering(t *testing.T) {
	if d := cmp.Diff([]string{"kind", "name", "rate"}, runs.Differing(table().Runs)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What is known of a folder with the events of an evaluation.
func Example() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	w := summary.NewFileWriter(filepath.Join(dir, "iris"), summary.Options{})
	if err := errors.Join(w.Scalar(1, "loss", 0.5), w.Scalar(2, "loss", 0.75), w.Close()); err != nil {
		panic(err)
	}
	all, err := runs.All([]string{dir})
	for _, r := range all {
		fmt.Println(r.Name, r.Phase, r.Step, r.Metrics["loss"].Best, err)
	}
	// Output: iris stopped 2 0.5 <nil>
}
