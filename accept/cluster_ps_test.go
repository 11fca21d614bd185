package accept

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterServerKilled kills each parameter server in turn and restarts it,
// empty: the job notices, and training continues from the last checkpoint.
func TestClusterServerKilled(t *testing.T) {
	all := long(t)
	victims, steps := []string{"ps-1", "ps-0"}, int64(4000)
	if !all {
		victims, steps = victims[:1], 3000
	}
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(asynchronous, fmt.Sprintf("train.max_steps=%d", steps))...)
	r.start()
	for _, victim := range victims {
		r.awaitCheckpoint(r.step("chief-0") + 200)
		chief, worker := r.at("chief-0"), r.at("worker-0")
		r.kill(victim)
		killed := time.Now()
		r.start(victim)
		r.awaitFrom("chief-0", chief, patience, `synchronize again`)
		r.awaitFrom("chief-0", chief, patience, `restored checkpoint`)
		r.awaitFrom("worker-0", worker, patience, `synchronize again`)
		r.awaitFrom("worker-0", r.at("worker-0"), patience, `step=`)
		t.Logf("%s: steps again after %v", victim, time.Since(killed))
	}
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", steps, steps+1)
}

// TestClusterServerGone kills a parameter server that never restarts.
func TestClusterServerGone(t *testing.T) {
	for _, victim := range []string{"ps-1", "ps-0"} {
		t.Run(victim, func(t *testing.T) {
			whole(t)
			r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(asynchronous, "rpc.rejoin_secs=3", "train.max_steps=100000")...)
			r.start()
			r.reach("worker-0", 300)
			r.kill(victim)
			took := r.exit("chief-0", 138)
			r.exit("worker-0", 138)
			t.Logf("given up after %v", took)
			typ, index, _ := strings.Cut(victim, "-")
			for _, name := range []string{"chief-0", "worker-0"} {
				text := strings.TrimSpace(r.tasks[name].all())
				last := text[strings.LastIndex(text, "\n")+1:]
				if !strings.Contains(last, "/job:"+typ+"/task:"+index) {
					t.Errorf("the last line of %s does not name the server that is gone: %s", name, last)
				}
			}
		})
	}
}

// TestClusterForeignServer has another job's server respond at the address of a killed one. The job waits for its own server, and continues when it
// is back; otherwise its tasks end with a retryable exit code.
func TestClusterForeignServer(t *testing.T) {
	for name, c := range map[string]struct {
		back   bool
		rejoin string
	}{"goes": {true, "rpc.rejoin_secs=60"}, "stays": {false, "rpc.rejoin_secs=3"}} {
		t.Run(name, func(t *testing.T) {
			whole(t)
			r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(asynchronous, c.rejoin, "train.max_steps=100000")...)
			r.start()
			r.reach("worker-0", 300)
			foreign := newRig(t, "chief-0 ps-0", asynchronous...)
			foreign.cluster["ps"] = r.cluster["ps"][1:]
			r.kill("ps-1")
			foreign.start("ps-0")
			r.await("chief-0", "another job")
			if c.back {
				foreign.kill("ps-0")
				at := r.at("chief-0")
				r.start("ps-1")
				r.awaitFrom("chief-0", at, time.Minute, "(?m)^step=")
				return
			}
			for _, name := range []string{"chief-0", "worker-0"} {
				r.exit(name, 138)
				if last := lastLine(r.tasks[name].all()); !strings.Contains(last, "another job's task") || !strings.Contains(last, "/job:ps/task:1") {
					t.Errorf("the last line of %s does not say who answers: %s", name, last)
				}
			}
		})
	}
}

// TestClusterServerDiesWhileWorkerRecovers kills a worker, and the server while
// the worker restarts.
func TestClusterServerDiesWhileWorkerRecovers(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", asynchronous...)
	r.start()
	r.reach("worker-0", 300)
	r.kill("worker-0")
	r.start("worker-0")
	r.listening("worker-0") // it has joined the cluster and is about to request the variables
	r.kill("ps-0")
	r.start("ps-0")
	r.reach("worker-0", 1)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", 3000, 3001)
}

// TestClusterServerOfSyncKilled kills a server of a synchronous job.
func TestClusterServerOfSyncKilled(t *testing.T) {
	for _, victim := range []string{"ps-1", "ps-0"} {
		t.Run(victim, func(t *testing.T) {
			whole(t)
			r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(synchronous, "train.max_steps=1000")...)
			r.start()
			r.reach("worker-0", 300)
			r.kill(victim)
			r.start(victim)
			r.exit("worker-0", 0)
			r.exit("ps-0", 0)
			r.exit("ps-1", 0)
			r.ended("chief-0", 1000, 1000)
		})
	}
}

// TestClusterServerStopped stops a server until it counts as lost, and resumes
// it: it still has its variables, and no step is lost.
func TestClusterServerStopped(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "run.save_checkpoints_steps=100000")...)
	r.start()
	r.reach("worker-0", 200)
	chief, worker := r.at("chief-0"), r.at("worker-0")
	r.signal(syscall.SIGSTOP, "ps-0")
	stopped := time.Now()
	r.awaitFrom("chief-0", chief, patience, `synchronize again`)
	r.awaitFrom("worker-0", worker, patience, `synchronize again`)
	t.Logf("both look for the server again after %v", time.Since(stopped))
	r.signal(syscall.SIGCONT, "ps-0")
	r.awaitFrom("chief-0", chief, patience, `taking over the variables on the parameter servers`)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 3000, 3001)
}
