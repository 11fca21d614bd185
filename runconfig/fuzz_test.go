package runconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/testkit"
)

// FuzzTFConfig: any text gives a consistent role or an error, never a panic.
func FuzzTFConfig(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "tf_config", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "-- TF_CONFIG\n")
		input, _, _ := strings.Cut(rest, "\n-- want")
		f.Add(input, false)
		f.Add(input, true)
	}
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		c, err := FromTFConfig(text, StrictTFConfig(strict))
		if err != nil {
			return
		}
		trains := c.WorkerRank() >= 0
		switch {
		case c.IsChief() && c.WorkerRank() != 0 && !c.ClusterSpec().Sparse():
			t.Errorf("the chief has rank %d", c.WorkerRank())
		case trains && c.NumWorkers() < 1:
			t.Error("a task that trains, and no workers")
		case trains && !c.ClusterSpec().Sparse() && c.WorkerRank() >= c.NumWorkers():
			t.Errorf("rank %d of %d workers", c.WorkerRank(), c.NumWorkers())
		case c.TaskType() == Evaluator && (trains || c.ClusterSpec().Len() > 0):
			t.Error("an evaluator inside the cluster")
		}
		if id, ok := c.GlobalID(); ok && id > 0 && id >= c.ClusterSpec().Len() {
			t.Errorf("global id %d of %d tasks", id, c.ClusterSpec().Len())
		}
	})
}

// FuzzConfigFile: any file gives an error, or a config that is written and read
// back the same; never a panic.
func FuzzConfigFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(), "configs", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("model: {params: {a.b: [1.0, {C: ~}], d: 2024-01-02}}\nseed: 1e3")
	f.Add("train.max_steps: 5\nTRAIN: {Input: {files: [a]}}")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := loadText(text, nil, nil)
		if err != nil {
			return
		}
		out, err := cfg.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadText(string(out), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if d := cmp.Diff(cfg, again, sameConfig); d != "" {
			t.Errorf("(-first +again):\n%s\n%s", d, out)
		}
	})
}

// FuzzSet: any --set argument gives a config or an error, never a panic.
func FuzzSet(f *testing.F) {
	for key, values := range validSets {
		f.Add(key + "=" + values[0])
	}
	f.Fuzz(func(t *testing.T, arg string) {
		cfg, err := loadText("model: {params: {a: 1}}\noptimizer: {learning_rate: 0.1}", nil, []string{arg})
		if (cfg == nil) == (err == nil) {
			t.Errorf("config %v, error %v", cfg, err)
		}
	})
}
