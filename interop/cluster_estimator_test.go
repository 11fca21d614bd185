package interop_test

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// estimatorRun is a training with tf.estimator.train_and_evaluate.
type estimatorRun struct {
	model     string // of cluster_estimator.py
	strategy  string // ps or none
	evaluator bool   // whether an evaluator runs, as another process
}

// chiefAndWorkers is a cluster for Estimators with several training tasks.
var chiefAndWorkers = map[string]int{"chief": 1, "worker": 2, "ps": 2}

func init() {
	for _, r := range []estimatorRun{{"custom", "ps", true}, {"linear", "ps", true}, {"dnn", "none", true}, {"combined", "none", true}} {
		clusterCases = append(clusterCases, clusterCase{
			name: "workers of an Estimator, " + r.model, drive: r.train, jobs: chiefAndWorkers, own: "chief worker",
			ours: []string{"ps", "chief worker ps", "worker/0 ps/1"}, compare: spread, runs: 2, has: "exports", long: true,
		})
	}
}

// train runs a process for each task except parameter servers, and returns their output.
func (r estimatorRun) train(t *testing.T, c *testCluster) string {
	chief := r.start(t, c, "chief", 0)
	all := []*pythonScript{chief}
	if r.evaluator {
		all = append(all, r.start(t, c, "evaluator", 0))
	}
	if len(c.addresses["worker"]) > 0 { // workers would wait 30 s if the chief had not created the variables
		chief.until(t, "a first step", func(said string) bool { return strings.Contains(said, "step = 0") })
	}
	for i := range c.addresses["worker"] {
		all = append(all, r.start(t, c, "worker", i))
	}
	var out strings.Builder
	for _, s := range all {
		out.WriteString(s.wait(t))
	}
	return out.String()
}

// start starts the process of a task.
func (r estimatorRun) start(t *testing.T, c *testCluster, job string, index int) *pythonScript {
	t.Helper()
	config := map[string]any{"cluster": c.addresses, "task": map[string]any{"type": job, "index": index}}
	if c.ours[job+"/"+strconv.Itoa(index)] {
		config["environment"] = "google" // then Estimators start no server: ours is running already
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return c.script(t, map[string]string{"TF_CONFIG": string(text)}, "cluster_estimator.py", filepath.Join(c.folder, "model"), r.model, r.strategy)
}
