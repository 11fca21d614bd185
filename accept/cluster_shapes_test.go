package accept

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestClusterShapes trains in clusters of every kind.
func TestClusterShapes(t *testing.T) {
	cases := []struct {
		name, tasks, chief string
		args               []string
		short              bool
	}{
		{"master", "master-0 worker-0 ps-0", "master-0", asynchronous, true},
		{"no_chief", "worker-0 worker-1 ps-0", "worker-0", asynchronous, true},
		{"no_chief_all_reduce", "worker-0 worker-1", "worker-0", allReduce, false},
		{"master_all_reduce", "master-0 worker-0", "master-0", allReduce, false},
		{"chief_and_ps", "chief-0 ps-0", "chief-0", synchronous, false},
		{"four_workers", "chief-0 worker-0 worker-1 worker-2", "chief-0", allReduce, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !long(t) && !c.short {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			r := newRig(t, c.tasks, set(c.args, "train.max_steps=200")...)
			r.start()
			for name := range r.tasks {
				r.exit(name, 0)
			}
			r.ended(c.chief, 200, 202)
		})
	}
}

// TestClusterNobodyComes starts tasks whose peers do not start: each ends after
// session_creation_timeout_secs and names the missing task.
func TestClusterNobodyComes(t *testing.T) {
	cases := []struct {
		name, tasks, start, missing string
		args                        []string
		short                       bool
	}{
		{"no_ps", "chief-0 ps-0 ps-1", "chief-0 ps-0", "/job:ps/task:1", asynchronous, true},
		{"no_chief", "chief-0 worker-0 ps-0", "worker-0 ps-0", "chief", asynchronous, false},
		{"no_master", "master-0 worker-0 ps-0", "worker-0 ps-0", "master", asynchronous, false},
		{"no_worker", "chief-0 worker-0 worker-1", "chief-0 worker-0", "/job:worker/task:1", allReduce, false},
		{"no_worker_synchronous", "chief-0 worker-0 ps-0", "chief-0 ps-0", "/job:worker/task:0", synchronous, false},
		{"no_leader", "chief-0 worker-0", "worker-0", "/job:chief/task:0", allReduce, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !long(t) && !c.short {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			// If the machine stalls for longer than the short limit, a task cannot know yet who is missing.
			for _, limit := range []int{2, 30} {
				r := newRig(t, c.tasks, set(c.args, fmt.Sprintf("run.session_creation_timeout_secs=%d", limit))...)
				unnamed := r.alone(strings.Fields(c.start), c.missing)
				if len(unnamed) == 0 {
					return
				}
				t.Logf("within %d s, %v did not name %s", limit, unnamed, c.missing)
			}
			t.Errorf("%s is not named", c.missing)
		})
	}
}

// alone starts some of the tasks, which end because a task is missing. It returns the tasks whose error does not name
// it.
func (r *rig) alone(names []string, missing string) (unnamed []string) {
	r.t.Helper()
	r.start(names...)
	for _, name := range names {
		if strings.HasPrefix(name, "ps") && strings.HasPrefix(missing, "/job") {
			continue // it waits for the chief, which had started
		}
		took := r.exit(name, 138)
		text, _ := r.tasks[name].text()
		r.t.Logf("%s after %v: %s", name, took.Round(time.Millisecond), lastLine(text))
		if !strings.Contains(lastLine(text), missing) {
			unnamed = append(unnamed, name)
		}
	}
	return unnamed
}

// TestClusterRestartBudget makes the chief give up repeatedly: after
// max_restarts such ends without a new checkpoint, it ends with 1 and says why.
// Being killed from outside does not count.
func TestClusterRestartBudget(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 ps-0", set(asynchronous, "run.session_creation_timeout_secs=1", "run.max_restarts=2", "train.max_steps=300")...)
	chief := r.tasks["chief-0"]
	chief.args = set(nil, "run.session_creation_timeout_secs=600") // it must not give up before it is killed
	for range 3 {
		r.start("chief-0")
		r.listening("chief-0")
		r.kill("chief-0")
	}
	chief.args = nil
	for range 2 {
		r.start("chief-0")
		r.exit("chief-0", 138)
	}
	r.start("chief-0")
	r.exit("chief-0", 1)
	if last := lastLine(r.tasks["chief-0"].all()); !strings.Contains(last, "gave up after 2 starts") || !strings.Contains(last, "/job:ps/task:0") {
		t.Errorf("the chain of reasons is missing: %s", last)
	}
}
