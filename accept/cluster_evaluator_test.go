package accept

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// evaluations are the steps that the evaluator has reported over all its runs.
func (r *rig) evaluations() []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^eval step=(\d+)`).FindAllStringSubmatch(r.tasks["evaluator-0"].all(), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestClusterEvaluatorKilled starts the evaluator first, kills it during training
// and restarts it: no checkpoint is evaluated twice, the last one is evaluated,
// and training is not affected.
func TestClusterEvaluatorKilled(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 ps-0 evaluator-0", set(asynchronous, "train.max_steps=6000")...) // the evaluator polls once a second
	r.start("evaluator-0")
	r.await("evaluator-0", `there is no checkpoint yet`)
	r.start("chief-0", "ps-0")
	r.await("evaluator-0", `eval step=[1-9]`)
	r.kill("evaluator-0")
	at := r.step("chief-0")
	r.reach("chief-0", at+300)
	r.start("evaluator-0")
	r.ended("chief-0", 6000, 6000)
	r.exit("evaluator-0", 0)
	all := r.evaluations()
	if last := all[len(all)-1]; last != "6000" {
		t.Errorf("the last evaluation is of step %s, expected 6000", last)
	}
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		t.Errorf("a checkpoint was evaluated twice: %v", all)
	}
}

// TestClusterEvaluatorSlow stops the evaluator until training is over: training does not wait
// for it, and afterwards it evaluates.
func TestClusterEvaluatorSlow(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 evaluator-0", set(allReduce, "train.max_steps=800")...)
	r.start("evaluator-0")
	r.await("evaluator-0", `there is no checkpoint yet`)
	r.signal(syscall.SIGSTOP, "evaluator-0")
	r.start("chief-0", "worker-0")
	r.ended("chief-0", 800, 800)
	r.signal(syscall.SIGCONT, "evaluator-0")
	r.exit("evaluator-0", 0)
	if all := r.evaluations(); !slices.Contains(all, "800") {
		t.Errorf("evaluations of the steps %v, expected 800 among them", all)
	}
}

// TestClusterEvaluatorEndsWithTraining ends the training early, at the end of the input.
func TestClusterEvaluatorEndsWithTraining(t *testing.T) {
	whole(t)
	for name, args := range map[string][]string{"asynchronous": asynchronous, "synchronous": synchronous, "all_reduce": allReduce} {
		t.Run(name, func(t *testing.T) {
			tasks := "chief-0 worker-0 ps-0 evaluator-0"
			if name == "all_reduce" {
				tasks = strings.Replace(tasks, "ps-0 ", "", 1)
			}
			r := newRig(t, tasks, set(args, "train.max_steps=0", "train.input.repeat=false", "train.input.count=9600")...)
			r.start()
			r.exit("chief-0", 0)
			r.exit("worker-0", 0)
			r.exit("evaluator-0", 0)
			steps := r.finished("chief-0")
			t.Logf("%d steps", steps)
			if want := int64(200); steps != want && name != "synchronous" {
				t.Errorf("%d steps, expected %d", steps, want)
			}
		})
	}
}

// TestClusterEvaluatorAwaited makes the chief wait for the last evaluation.
func TestClusterEvaluatorAwaited(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 ps-0 evaluator-0", set(asynchronous, "train.max_steps=500", "run.evaluator_wait_secs=60")...)
	r.start("evaluator-0")
	r.await("evaluator-0", `there is no checkpoint yet`)
	r.signal(syscall.SIGSTOP, "evaluator-0")
	r.start("chief-0", "ps-0")
	r.exit("ps-0", 0)
	r.running("chief-0")
	r.signal(syscall.SIGCONT, "evaluator-0")
	r.exit("evaluator-0", 0)
	r.ended("chief-0", 500, 500)
}
