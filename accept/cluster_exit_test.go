package accept

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The matrix of exit codes: each role, in each phase, for each cause.

// exitRole is a task in a cluster with every feature: it trains, saves, evaluates and exports.
type exitRole struct {
	tasks, task string
	args        []string
}

var exitRoles = map[string]exitRole{
	"single":               {"chief-0", "chief-0", nil},
	"chief":                {"chief-0 worker-0 ps-0 evaluator-0", "chief-0", asynchronous},
	"worker":               {"chief-0 worker-0 ps-0", "worker-0", asynchronous},
	"ps":                   {"chief-0 worker-0 ps-0", "ps-0", asynchronous},
	"evaluator":            {"chief-0 ps-0 evaluator-0", "evaluator-0", asynchronous},
	"chief_synchronous":    {"chief-0 worker-0 ps-0", "chief-0", synchronous},
	"worker_synchronous":   {"chief-0 worker-0 ps-0", "worker-0", synchronous},
	"chief_ring":           {"chief-0 worker-0", "chief-0", allReduce},
	"worker_ring":          {"chief-0 worker-0 worker-1", "worker-0", allReduce},
	"master_ring_together": {"master-0 worker-0", "master-0", set(allReduce, "strategy.distributed_eval=true")},
}

// exitPhases are the failpoints that hold a task in a phase.
var exitPhases = map[string]string{
	"connect":  "estimator/connect=stop",
	"restore":  "estimator/restore=stop",
	"step":     "estimator/step=stop@10",
	"save":     "checkpoint/start=stop@2",
	"settle":   "estimator/settle=stop",
	"evaluate": "estimator/evaluate=stop",
	"export":   "estimator/export=stop",
}

// TestClusterTerminatedAnywhere sends SIGTERM to each role in each phase: the task ends with 143.
func TestClusterTerminatedAnywhere(t *testing.T) {
	short := []string{"single/evaluate", "chief/gather", "worker/gather", "chief_synchronous/settle", "worker_ring/step", "evaluator/export"}
	phases := map[string]string{
		"single":               "connect restore step save settle evaluate export",
		"chief":                "connect gather restore step save settle",
		"worker":               "connect gather step settle",
		"ps":                   "connect gather",
		"evaluator":            "connect gather evaluate export",
		"chief_synchronous":    "connect gather restore step save settle",
		"worker_synchronous":   "connect gather step settle",
		"chief_ring":           "connect gather restore step save settle",
		"worker_ring":          "connect gather step settle",
		"master_ring_together": "evaluate",
	}
	all := long(t)
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		for _, phase := range strings.Fields(phases[name]) {
			t.Run(name+"/"+phase, func(t *testing.T) {
				if !all && !slices.Contains(short, name+"/"+phase) {
					t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
				}
				role := exitRoles[name]
				r := role.hold(t, phase, "train.max_steps=200")
				r.signal(syscall.SIGTERM, role.task)
				r.signal(syscall.SIGCONT, role.task)
				r.exit(role.task, 143)
			})
		}
	}
}

// hold starts the role's cluster and returns once the role's task is in a phase.
func (e exitRole) hold(t *testing.T, phase string, args ...string) *rig {
	t.Helper()
	r := newRig(t, e.tasks, set(set(e.args, "run.save_checkpoints_steps=50", "eval.exporters=[{name: latest, kind: latest}]"), args...)...)
	if phase == "gather" {
		r.start(e.task)
		if typ, _ := split(e.task); typ == "evaluator" {
			r.await(e.task, `there is no checkpoint yet`)
		} else {
			r.listening(e.task)
		}
		return r
	}
	r.tasks[e.task].env = []string{"GOESTIMATOR_FAILPOINTS=" + exitPhases[phase]}
	r.start()
	r.stopped(e.task)
	return r
}

// stopped waits until a task is stopped at a failpoint.
func (r *rig) stopped(name string) {
	r.t.Helper()
	until := time.Now().Add(patience)
	for tick := time.NewTicker(5 * time.Millisecond); time.Now().Before(until); <-tick.C {
		r.running(name)
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.tasks[name].p.PID()))
		if err != nil {
			r.t.Skipf("skipped: needs Linux's /proc: %v", err)
		}
		if _, state, _ := strings.Cut(string(b), ") "); strings.HasPrefix(state, "T") {
			return
		}
	}
	r.t.Fatalf("%s does not stand still after %v", name, patience)
}
