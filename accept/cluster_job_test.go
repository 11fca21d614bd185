package accept

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// joining returns a cluster of other tasks that uses the parameter servers of r.
func (r *rig) joining(t *testing.T, tasks string, args ...string) *rig {
	t.Helper()
	other := newRig(t, tasks, args...)
	other.cluster["ps"] = r.cluster["ps"]
	return other
}

// TestClusterOtherJob starts a chief and a worker of another cluster, without token
// or name, that use the parameter servers of a running job. They are refused, and
// the job runs to its end.
func TestClusterOtherJob(t *testing.T) {
	for name, args := range map[string][]string{"asynchronous": asynchronous, "synchronous": synchronous} {
		t.Run(name, func(t *testing.T) {
			if !long(t) && name == "synchronous" {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(args, "train.max_steps=1500")...)
			r.start()
			at := r.reach("chief-0", 40)
			for _, shape := range []string{"chief-0 worker-0", "chief-0", "chief-0 worker-0 worker-1"} {
				other := r.joining(t, shape, args...)
				for name := range other.tasks {
					other.start(name)
					other.exit(name, 2)
					last := lastLine(other.tasks[name].all())
					t.Logf("%s of %s: %s", name, shape, last)
					if !strings.Contains(last, "run.job_id") {
						t.Errorf("the last line does not say what to do: %s", last)
					}
				}
			}
			r.reach("chief-0", at+1)
			r.ended("chief-0", 1500, 1501)
			for _, name := range []string{"worker-0", "ps-0", "ps-1"} {
				r.exit(name, 0)
				if strings.Contains(r.tasks[name].all(), "synchronize again") {
					t.Errorf("%s noticed the other job", name)
				}
			}
		})
	}
}

// TestClusterOtherOrder: a worker that lists the parameter servers in another order, or fewer of them, is refused with the reason; the job continues.
func TestClusterOtherOrder(t *testing.T) {
	r := newRig(t, "chief-0 worker-0 worker-1 ps-0 ps-1", set(asynchronous, "train.max_steps=1500")...)
	r.start("chief-0", "worker-0", "ps-0", "ps-1")
	r.reach("chief-0", 40)
	servers := r.cluster["ps"]
	for _, other := range [][]string{{servers[1], servers[0]}, servers[:1]} {
		r.cluster["ps"] = other
		r.start("worker-1")
		r.exit("worker-1", 2)
		if last := lastLine(r.tasks["worker-1"].all()); !strings.Contains(last, "the same cluster in TF_CONFIG") {
			t.Errorf("the last line does not say what to do: %s", last)
		}
	}
	r.cluster["ps"] = servers
	r.start("worker-1")
	r.ended("chief-0", 1500, 1502)
	for _, name := range []string{"worker-0", "worker-1", "ps-0", "ps-1"} {
		r.exit(name, 0)
	}
}

// TestClusterOtherJobInRing starts a worker configured with another job's chief.
func TestClusterOtherJobInRing(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1", set(allReduce, "train.max_steps=1000")...)
	r.start()
	r.reach("chief-0", 40)
	other := newRig(t, "chief-0 worker-0 worker-1", allReduce...)
	other.cluster["chief"] = r.cluster["chief"]
	other.env = []string{"GOESTIMATOR_RUN_JOB_ID=theirs"}
	other.start("worker-1")
	other.exit("worker-1", 2)
	r.ended("chief-0", 1000, 1000)
	r.exit("worker-0", 0)
	r.exit("worker-1", 0)
}

// TestClusterNamedJobs: if the job has a name, addresses do not identify it.
func TestClusterNamedJobs(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1500", "run.job_id=ours")...)
	r.proxy("worker-0", "ps-0")
	r.proxy("ps-0", "chief-0")
	r.proxy("ps-0", "worker-0")
	r.start("chief-0", "ps-0")
	r.reach("chief-0", 20)
	for _, id := range []string{"theirs", ""} {
		r.tasks["worker-0"].args = []string{"--set", "run.job_id=" + id}
		r.start("worker-0")
		r.exit("worker-0", 2)
	}
	r.tasks["worker-0"].args = nil
	r.start("worker-0")
	r.reach("worker-0", 1)
	r.ended("chief-0", 1500, 1501)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
}

// TestClusterStandingServers runs jobs with different models one after the other on the same
// parameter servers; while one is running, others are refused.
func TestClusterStandingServers(t *testing.T) {
	long(t)
	first := newRig(t, "chief-0 ps-0 ps-1", set(synchronous, "train.max_steps=300")...)
	spec := fmt.Sprintf("chief|localhost:1,ps|%s", strings.Join(first.cluster["ps"], ";"))
	servers := []string{"ps-0", "ps-1"}
	for _, name := range servers {
		first.tasks[name].server = spec
	}
	first.start()
	first.ended("chief-0", 300, 300)

	second := first.joining(t, "chief-0 worker-0", set(asynchronous, "train.max_steps=3000", "model.params.hidden_units=[32]")...)
	second.env = []string{"GOESTIMATOR_RUN_JOB_ID=second"}
	second.start()
	at := second.reach("chief-0", 40)
	third := first.joining(t, "chief-0", synchronous...)
	third.dir = filepath.Join(t.TempDir(), "third")
	third.start("chief-0")
	third.exit("chief-0", 2)
	if text := third.tasks["chief-0"].all(); !strings.Contains(text, `serves job "second"`) {
		t.Errorf("the third job does not learn whose servers these are: %s", lastLine(text))
	}
	second.reach("chief-0", at+1)
	second.ended("chief-0", 3000, 3001)
	second.exit("worker-0", 0)

	third.start("chief-0")
	third.reach("chief-0", 40)
	third.kill("chief-0") // restarted, it takes over its variables
	third.start("chief-0")
	third.await("chief-0", "taking over the variables")
	third.ended("chief-0", 3000, 3000)
	first.running(servers...)
	for _, name := range servers {
		first.await(name, "(?s)(free for the next job.*){3}")
	}
	first.signal(syscall.SIGTERM, servers...)
	for _, name := range servers {
		first.exit(name, 143)
		if n := strings.Count(first.tasks[name].all(), "free for the next job"); n != 3 {
			t.Errorf("%s served %d jobs, expected 3", name, n)
		}
	}
}
