package interop_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// trainAndEvaluate returns what runs tf.estimator.train_and_evaluate, a process for each task of jobs, which are the evaluator and others of one
// task each. It returns what these print.
func trainAndEvaluate(model, strategy string, jobs ...string) func(*testing.T, *testCluster) string {
	return func(t *testing.T, c *testCluster) string {
		var all []*pythonScript
		for _, job := range jobs {
			config := map[string]any{"cluster": c.addresses, "task": map[string]any{"type": job, "index": 0}}
			if c.ours[job+"/0"] {
				config["environment"] = "google" // Estimators start no server then: the task's is there
			}
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, host(t).start(t, map[string]string{"TF_CONFIG": string(text)}, "cluster_estimator.py", filepath.Join(c.folder, "model"), model, strategy))
		}
		var out strings.Builder
		for _, s := range all {
			out.WriteString(s.wait(t))
		}
		return out.String()
	}
}
