package accept

import (
	"strings"
	"testing"
	"time"
)

// TestClusterChiefFails makes the chief fail with an error that is not
// retryable: parameter servers, workers and evaluator end with its exit code, and say why.
func TestClusterChiefFails(t *testing.T) {
	all := long(t)
	for _, c := range []struct {
		name, tasks string
		args        []string
		env         string   // of the chief
		set         []string // of the chief
		code        int
		says        string
		short       bool
	}{
		{"step", "chief-0 worker-0 ps-0 ps-1 evaluator-0", asynchronous, "estimator/step=error@100", nil, 1, "injected failure", true},
		{"mistake", "chief-0 worker-0 ps-0 evaluator-0", asynchronous, "", []string{"--set", "strategy.name=mirrored"}, 2, "trains in one process", true},
		{"config", "chief-0 ps-0", asynchronous, "", []string{"--set", "optimizer.name=none_such"}, 2, "none_such", false},
		{"gathering", "chief-0 worker-0 ps-0 evaluator-0", synchronous, "estimator/restore=error", nil, 1, "injected failure", false},
		{"ring", "chief-0 worker-0 worker-1 evaluator-0", allReduce, "estimator/step=error@100", nil, 1, "injected failure", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !all && !c.short {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			r := newRig(t, c.tasks, set(c.args, "train.max_steps=1000000")...)
			r.tasks["chief-0"].env = []string{"GOESTIMATOR_FAILPOINTS=" + c.env}
			r.tasks["chief-0"].args = c.set
			r.start()
			r.exit("chief-0", c.code)
			failed := time.Now()
			for name := range r.tasks {
				if name == "chief-0" {
					continue
				}
				r.exit(name, c.code)
				t.Logf("%s ended %v after the chief: %s", name, time.Since(failed).Round(time.Millisecond), lastLine(r.tasks[name].all()))
				if text := lastLine(r.tasks[name].all()); !strings.Contains(text, c.says) {
					t.Errorf("%s does not say why: %s", name, text)
				}
			}
		})
	}
}

// TestClusterWorkerFails makes a worker fail in the same way: the others continue without it.
func TestClusterWorkerFails(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=2000")...)
	r.tasks["worker-0"].env = []string{"GOESTIMATOR_FAILPOINTS=estimator/step=error@50"}
	r.start()
	r.exit("worker-0", 1)
	r.ended("chief-0", 2000, 2001)
	r.exit("ps-0", 0)
}
