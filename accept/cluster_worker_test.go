package accept

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The settings of the strategies.
var (
	asynchronous = []string{"--set", "strategy.name=parameter_server"}
	synchronous  = []string{"--set", "strategy.name=parameter_server", "--set", "strategy.sync=true"}
	allReduce    = []string{"--set", "strategy.name=multi_worker_mirrored"}
)

// set adds settings.
func set(settings []string, more ...string) []string {
	out := append([]string{}, settings...)
	for _, s := range more {
		out = append(out, "--set", s)
	}
	return out
}

// whole skips a test that is not part of the short form.
func whole(t *testing.T) {
	t.Helper()
	if !long(t) {
		t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
	}
}

// ended checks the last step of a job that has ended, and its checkpoint.
func (r *rig) ended(name string, low, high int64) {
	r.t.Helper()
	r.exit(name, 0)
	n := r.finished(name)
	if n < low || n > high {
		r.t.Errorf("%s ended at step %d, expected %d to %d", name, n, low, high)
	}
	if saved := r.latest(); saved != n {
		r.t.Errorf("the last checkpoint is of step %d, training ended at %d", saved, n)
	}
	r.clean()
}

// TestClusterWorkerKilled kills workers of an asynchronous job: the others
// continue, and a restarted worker takes part again.
func TestClusterWorkerKilled(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 worker-1 ps-0", asynchronous...)
	r.start()
	r.reach("worker-1", 100)
	r.reach("worker-0", 100)
	r.kill("worker-0", "worker-1")
	at := r.reach("chief-0", 1)
	r.reach("chief-0", at+200)
	r.start("worker-0", "worker-1")
	r.reach("worker-1", at+200)
	r.exit("worker-0", 0)
	r.exit("worker-1", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 3000, 3002)
}

// TestClusterWorkerKilledInALoop repeatedly kills two of four workers after they have taken part for a while.
func TestClusterWorkerKilledInALoop(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1 worker-2 ps-0 ps-1", set(asynchronous, "train.max_steps=12000")...)
	r.start()
	r.reach("chief-0", 1)
	kills := 0
	for ; r.step("chief-0") < 10000; kills++ {
		r.reach("worker-0", r.step("chief-0")+300)
		r.kill("worker-0", "worker-1")
		r.start("worker-0", "worker-1")
	}
	t.Logf("%d times two kills", kills)
	for _, name := range []string{"worker-0", "worker-1", "worker-2"} {
		r.exit(name, 0)
	}
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", 12000, 12003)
}

// TestClusterSyncWorkerKilled kills a worker whose gradients every step needs:
// the others wait for it, and the last step is exact.
func TestClusterSyncWorkerKilled(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(synchronous, "train.max_steps=1000")...)
	r.start()
	r.reach("worker-0", 200)
	r.kill("worker-0")
	r.start("worker-0")
	r.reach("worker-0", 300)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", 1000, 1000)
}

// TestClusterSyncWorkerGone kills such a worker and never restarts it: the chief gives up.
func TestClusterSyncWorkerGone(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(synchronous, "rpc.rejoin_secs=3", "train.max_steps=100000")...)
	r.start()
	r.reach("worker-0", 100)
	r.kill("worker-0")
	t.Logf("given up after %v", r.exit("chief-0", 138))
	r.await("chief-0", `needs the gradients of 2 workers; after 3s there are only \[/job:chief/task:0\]`)
}

// TestClusterBackupWorkerKilled kills a worker that synchronous steps can do without.
func TestClusterBackupWorkerKilled(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1 ps-0", set(synchronous, "strategy.replicas_to_aggregate=2", "train.max_steps=1000")...)
	r.start()
	r.reach("worker-0", 100)
	r.reach("worker-1", 100)
	r.kill("worker-0")
	r.exit("worker-1", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 1000, 1000)
}

// TestClusterRingWorkerKilled kills a worker of an all-reduce job, then the
// chief. Each time the survivors wait, and all continue from the last
// checkpoint. The final checkpoint equals that of an undisturbed run.
func TestClusterRingWorkerKilled(t *testing.T) {
	all := long(t)
	args := set(allReduce, "train.max_steps=1500")
	r := newRig(t, "chief-0 worker-0 worker-1", args...)
	r.start()
	for _, victim := range []string{"worker-1", "chief-0"} {
		r.reach(victim, 250)
		at := r.at("worker-0")
		r.kill(victim)
		killed := time.Now()
		r.awaitFrom("worker-0", at, patience, `synchronize again`)
		noticed := time.Since(killed)
		r.start(victim)
		r.awaitFrom("worker-0", r.at("worker-0"), patience, `step=`)
		t.Logf("%s: noticed after %v, steps again after %v", victim, noticed, time.Since(killed))
	}
	r.exit("worker-0", 0)
	r.exit("worker-1", 0)
	r.ended("chief-0", 1500, 1500)
	if !all {
		return
	}
	undisturbed := newRig(t, "chief-0 worker-0 worker-1", args...)
	undisturbed.start()
	undisturbed.ended("chief-0", 1500, 1500)
	compare(t, undisturbed.dir, r.dir, "1500")
}

// TestClusterRingWorkerGone kills a worker of an all-reduce job and never
// restarts it: the others give up and name it.
func TestClusterRingWorkerGone(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1", set(allReduce, "rpc.rejoin_secs=3", "train.max_steps=100000")...)
	r.start()
	r.reach("worker-0", 300)
	r.kill("worker-1")
	t.Logf("chief given up after %v", r.exit("chief-0", 138))
	r.exit("worker-0", 138)
	for _, name := range []string{"chief-0", "worker-0"} {
		if text, _ := r.tasks[name].text(); !strings.Contains(text, "/job:worker/task:1") {
			t.Errorf("%s does not name the worker that is gone", name)
		}
	}
	if n := r.latest(); n%200 != 0 || n == 0 {
		t.Errorf("the last checkpoint is of step %d, expected a multiple of 200", n)
	}
}

// TestClusterWorkerComesLate starts a worker while the others end: it takes part
// or ends as they do, whether or not it sees their model_dir.
func TestClusterWorkerComesLate(t *testing.T) {
	tries := 2
	if long(t) {
		tries = 9
	}
	for _, dir := range []string{"shared", "own"} {
		for i := range tries {
			t.Run(fmt.Sprintf("%s_%d", dir, i), func(t *testing.T) {
				r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=300")...)
				if dir == "own" {
					r.tasks["worker-0"].args = []string{"--set", "model_dir=" + t.TempDir()}
				}
				late := 300*time.Millisecond + time.Duration(rand.New(rand.NewPCG(uint64(i), 7)).Int64N(int64(1700*time.Millisecond)))
				r.start("chief-0", "ps-0")
				time.Sleep(late)
				r.start("worker-0")
				r.ended("chief-0", 300, 301)
				t.Logf("a worker that came after %v ended %v after the chief", late, r.exit("worker-0", 0))
				r.exit("ps-0", 0)
			})
		}
	}
}
