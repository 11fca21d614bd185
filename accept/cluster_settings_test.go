package accept

import (
	"strings"
	"testing"
)

// TestClusterOtherSettings starts a worker whose learning rate differs from its
// job's: it is refused with exit code 2, and the error has both values.
func TestClusterOtherSettings(t *testing.T) {
	for _, c := range []struct {
		name, tasks string
		args        []string
		short       bool
	}{
		{"all reduce", "chief-0 worker-0", allReduce, true},
		{"asynchronous", "chief-0 worker-0 ps-0", asynchronous, true},
		{"synchronous", "chief-0 worker-0 ps-0", synchronous, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !long(t) && !c.short {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			r := newRig(t, c.tasks, set(c.args, "train.max_steps=1000000")...)
			r.tasks["worker-0"].args = []string{"--set", "optimizer.learning_rate=0.004"}
			r.start()
			r.exit("worker-0", 2)
			last := lastLine(r.tasks["worker-0"].all())
			if !strings.Contains(last, "learning_rate=0.004") || !strings.Contains(last, "learning_rate=0.002") {
				t.Errorf("the last line does not name both values: %s", last)
			}
			if c.name == "all reduce" {
				r.exit("chief-0", 2)
				return
			}
			r.tasks["worker-0"].args = nil
			r.start("worker-0")
			r.reach("worker-0", 1)
			r.running("chief-0", "ps-0")
		})
	}
}

// TestClusterMoreSteps restarts a chief with more steps: it takes over its
// variables, and new workers train as long as it does.
func TestClusterMoreSteps(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1000000")...)
	r.start()
	at := r.reach("worker-0", 40)
	r.kill("chief-0", "worker-0")
	more := []string{"--set", "train.max_steps=2000000"}
	r.tasks["worker-0"].args = more
	r.start("worker-0")
	r.await("worker-0", "waiting for the chief to be started again with as many steps")
	r.tasks["chief-0"].args = more
	r.start("chief-0")
	r.await("chief-0", "taking over the variables")
	r.reach("worker-0", at+1)
	r.kill("worker-0")
	for _, steps := range []string{"1000000", "3000000"} {
		r.tasks["worker-0"].args = []string{"--set", "train.max_steps=" + steps}
		r.start("worker-0")
		r.exit("worker-0", 2)
		if last := lastLine(r.tasks["worker-0"].all()); !strings.Contains(last, "max_steps="+steps) || !strings.Contains(last, "max_steps=2000000") {
			t.Errorf("the last line does not name both values: %s", last)
		}
	}
	r.kill("chief-0")
	r.tasks["chief-0"].args = nil
	r.start("chief-0")
	r.exit("chief-0", 2) // fewer steps than the job has
	r.tasks["chief-0"].args = []string{"--set", "train.max_steps=2000000", "--set", "optimizer.learning_rate=0.004"}
	r.start("chief-0")
	r.exit("chief-0", 2)
	if last := lastLine(r.tasks["chief-0"].all()); !strings.Contains(last, "learning_rate=0.004") {
		t.Errorf("the last line does not name the learning rate: %s", last)
	}
}
