package runconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
