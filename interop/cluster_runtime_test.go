package interop_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// clusterCase is a program that runs on TensorFlow's servers, on ours and on mixed clusters, with the same result.
type clusterCase struct {
	name   string
	script string         // in python/; run as `script CLUSTER DIR args`
	args   []string       // more arguments
	jobs   map[string]int // number of tasks of each job
	ours   []string       // for each run, the jobs and tasks that run our server; a run with only TensorFlow's servers comes first
	more   []string       // further such runs, only in the long form
	own    string         // jobs whose programs start TensorFlow's server themselves if theirs is not ours
	flags  []string       // of our servers, besides --allow-path DIR
	// drive runs a program with more than one script, and returns the output to compare; nil runs script.
	drive   func(t *testing.T, c *testCluster) string
	compare compareRuns
	// runs is the number of reference runs on TensorFlow's servers, for results that vary; 0 means one. The long form has 5.
	runs int
	// has is a text that shows that the script reached its end.
	has  string
	long bool // only runs in the long form: GOESTIMATOR_ACCEPT=1, make interop
}

// oneWorker is a cluster for programs with one client.
var oneWorker = map[string]int{"worker": 1, "ps": 2}

// twoWorkers is a cluster for programs with a client for each worker, or a model on each.
var twoWorkers = map[string]int{"worker": 2, "ps": 2}

// oneChief is a cluster for Estimators with a single training task.
var oneChief = map[string]int{"chief": 1, "ps": 2}

// clusterCases are all programs. A new one needs a script and a line here.
var clusterCases = []clusterCase{
	{name: "sessions", script: "cluster_sessions.py", jobs: oneWorker, ours: []string{"worker ps", "worker ps/1"}, more: []string{"ps"}, compare: nearly, has: "branch"},
	{name: "data", script: "cluster_data.py", jobs: oneWorker, ours: []string{"worker ps"}, compare: exactly, has: "variables changed"},
	{name: "a client in Go", jobs: oneWorker, ours: []string{"worker ps"}, drive: goClient, compare: nearly, has: "ftrl"},
	{name: "devices", script: "cluster_devices.py", jobs: oneWorker, ours: []string{"worker ps", "worker ps/1"}, more: []string{"ps"}, flags: []string{"--cpu-devices=2"}, compare: exactly, has: "trained"},
	{name: "containers", script: "cluster_containers.py", jobs: oneWorker, ours: []string{"worker ps"}, compare: exactly, has: "twice"},
	{name: "sync replicas", script: "cluster_sync_replicas.py", jobs: map[string]int{"worker": 3, "ps": 2}, ours: []string{"worker ps"}, compare: nearly, has: "reference/embedding"},
	{name: "flow", script: "cluster_flow.py", jobs: oneWorker, ours: []string{"worker ps", "worker ps/1"}, more: []string{"ps"}, compare: exactly, has: "v2 gradients"},
	{name: "training", script: "cluster_training.py", jobs: oneWorker, ours: []string{"worker ps"}, compare: nearly, has: "step of adam True 1"},
	{name: "jobs", script: "cluster_jobs.py", jobs: oneWorker, ours: []string{"worker ps"}, compare: nearly, has: "from_generator"},
	{name: "models", script: "cluster_models.py", args: []string{"mlp,cnn"}, jobs: oneWorker, ours: []string{"worker ps"}, compare: nearly, has: "cnn"},
	{name: "all models", script: "cluster_models.py", jobs: oneWorker, ours: []string{"worker ps", "ps"}, compare: nearly, has: "columns", long: true},
	{name: "threads", script: "cluster_threads.py", jobs: twoWorkers, ours: []string{"worker ps"}, more: []string{"ps"}, compare: spread, runs: 2, has: "losses"},
	{name: "between", drive: between(1000, nothing), jobs: twoWorkers, ours: []string{"worker ps"}, more: []string{"ps"}, compare: spread, runs: 2, has: "last", long: true},
	{name: "kills", drive: between(1400, killEach), jobs: oneWorker, ours: []string{"worker ps"}, compare: spread, has: "last"},
	{name: "kills under two workers", drive: between(20000, killEach), jobs: twoWorkers, ours: []string{"worker ps", "ps"}, compare: spread, has: "last", long: true},
	{name: "estimator", drive: estimatorRun{"custom", "none", false}.train, jobs: oneChief, own: "chief", ours: []string{"ps", "chief ps"}, compare: nearly, has: "done"},
	{name: "canned estimator", drive: estimatorRun{"dnn", "none", false}.train, jobs: oneChief, own: "chief", ours: []string{"ps", "chief ps"}, compare: nearly, has: "done", long: true},
	{name: "canned estimator, ParameterServerStrategy", drive: estimatorRun{"dnn", "ps", true}.train, jobs: oneChief, own: "chief", ours: []string{"chief ps"}, compare: nearly, has: "exports", long: true},
	{name: "estimator, ParameterServerStrategy", drive: estimatorRun{"custom", "ps", true}.train, jobs: oneChief, own: "chief", ours: []string{"ps", "chief ps"}, compare: nearly, has: "exports", long: true},
}

// longForm reports whether to run everything, beyond what CI has time for.
func longForm() bool { return os.Getenv("GOESTIMATOR_ACCEPT") == "1" }

// TestClusters: TensorFlow's programs, unchanged, give the same results on TensorFlow's servers, on ours, and on mixed clusters.
func TestClusters(t *testing.T) {
	peers(t)
	for _, c := range clusterCases {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !longForm() {
				t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1, make interop)")
			}
			c.run(t)
		})
	}
}

func (c clusterCase) run(t *testing.T) {
	runs := max(1, c.runs)
	if runs > 1 && longForm() {
		runs = 5
	}
	var reference []string
	for range runs {
		reference = append(reference, c.once(t, "TensorFlow's servers", ""))
	}
	if t.Failed() {
		return
	}
	mixes := c.ours
	if longForm() {
		mixes = slices.Concat(c.ours, c.more)
	}
	for _, ours := range mixes {
		if got := c.once(t, "our "+ours, ours); !t.Failed() {
			if err := c.compare(reference, got); err != nil {
				t.Errorf("our %s: %v", ours, err)
			}
		}
	}
}

// once runs the program on a new cluster, and returns its output.
func (c clusterCase) once(t *testing.T, name, ours string) (out string) {
	t.Run(name, func(t *testing.T) {
		cluster := newCluster(t, c.jobs, ours, c.own, c.flags...)
		if c.drive != nil {
			out = c.drive(t, cluster)
		} else {
			out = cluster.script(t, nil, c.script, append([]string{cluster.json(t), cluster.folder}, c.args...)...).wait(t)
		}
		t.Logf("%s", strings.TrimSpace(out))
		if !strings.Contains(out, c.has) {
			t.Errorf("expected %q, got\n%s", c.has, out)
		}
	})
	return out
}
