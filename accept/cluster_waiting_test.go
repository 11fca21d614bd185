package accept

import (
	"regexp"
	"syscall"
	"testing"
)

// waits waits until a task logs that it waits for another one, and why.
func (r *rig) waits(name, task, why string) {
	r.t.Helper()
	typ, i := split(task)
	where := "/job:" + typ + "/task:" + task[len(typ)+1:] + " at " + r.cluster[typ][i]
	r.await(name, "waiting for "+regexp.QuoteMeta(where)+` \(\d+ s\): `+why)
}

// TestClusterWaiting starts and stops tasks so that others have to wait: they log for whom and why.
func TestClusterWaiting(t *testing.T) {
	long(t)
	t.Run("gathering", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "chief-0 worker-0 ps-0 ps-1 evaluator-0", asynchronous...)
		r.start("worker-0", "ps-0", "evaluator-0")
		r.waits("worker-0", "ps-1", "connection refused")
		r.waits("ps-0", "chief-0", "connection refused")
		r.await("evaluator-0", `waiting for the first checkpoint in \S+ \(\d+ s\): the chief has not saved one`)
		r.start("ps-1")
		r.waits("worker-0", "chief-0", "connection refused")
	})
	t.Run("synchronous", func(t *testing.T) {
		t.Parallel()
		// At the first start, tasks wait longer than for a task that was lost.
		r := newRig(t, "chief-0 worker-0 ps-0", set(synchronous, "rpc.rejoin_secs=1", "train.max_steps=500")...)
		r.start("chief-0", "ps-0")
		r.waits("chief-0", "worker-0", "connection refused")
		r.start("worker-0")
		r.ended("chief-0", 500, 500)
	})
	t.Run("ring", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "chief-0 worker-0 worker-1", set(allReduce, "train.max_steps=100000", "rpc.peer_timeout_secs=60")...)
		r.start("chief-0", "worker-0")
		r.waits("chief-0", "worker-1", "connection refused")
		r.waits("worker-0", "worker-1", "connection refused")
		r.start("worker-1")
		r.reach("worker-0", 100)
		r.signal(syscall.SIGSTOP, "worker-1")
		r.waits("chief-0", "worker-1", "no answer")
		r.waits("worker-0", "worker-1", "no answer")
		at := r.step("chief-0")
		r.signal(syscall.SIGCONT, "worker-1")
		r.reach("chief-0", at+100)
	})
}
