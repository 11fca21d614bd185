package accept

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// endless keeps a job training until it is stopped.
const endless = "train.max_steps=1000000000"

// twin is another process for a task of a running job, with another address, as on another host.
func (r *rig) twin(t *testing.T, name string, args ...string) *rig {
	t.Helper()
	ports, err := freeport.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	other := newRig(t, name, args...)
	typ, i := split(name)
	other.cluster, other.env = maps.Clone(r.cluster), r.env
	other.cluster[typ] = slices.Clone(r.cluster[typ])
	other.cluster[typ][i] = ports.Address(0)
	return other
}

// TestClusterTwoProcessesOfOneTask starts second processes for tasks of a running job, on other ports: the
// second one is refused, and the job continues. A killed process is replaced.
func TestClusterTwoProcessesOfOneTask(t *testing.T) {
	for name, c := range map[string]struct {
		tasks string
		args  []string
	}{
		"parameter servers": {"chief-0 worker-0 ps-0", asynchronous},
		"all-reduce":        {"chief-0 worker-0", allReduce},
	} {
		t.Run(name, func(t *testing.T) {
			if !long(t) && name == "all-reduce" {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			r := newRig(t, c.tasks, set(c.args, endless)...)
			r.env = []string{"GOESTIMATOR_RUN_JOB_ID=ours"}
			r.start()
			r.reach("worker-0", 40)
			if name == "parameter servers" {
				requireTaken(t, "chief-0", r.twin(t, "chief-0", c.args...), "came later")
			}
			requireTaken(t, "worker-0", r.twin(t, "worker-0", c.args...), "came later")
			same := newRig(t, "worker-0", c.args...)
			same.cluster, same.env = r.cluster, r.env
			requireTaken(t, "worker-0", same, "another process of this host listens there")
			at := r.reach("worker-0", r.step("worker-0")+1)
			r.kill("worker-0")
			r.start("worker-0")
			r.reach("worker-0", at+1)
			r.signal(syscall.SIGTERM, "chief-0")
			r.exit("chief-0", 143)
		})
	}
}

// requireTaken starts a second process of a task. It must end with exit code 2, and its error must say why and what to do.
func requireTaken(t *testing.T, name string, second *rig, cause string) {
	t.Helper()
	second.start(name)
	second.exit(name, 2)
	last := lastLine(second.tasks[name].all())
	t.Log(last)
	for _, part := range []string{cause, "127.0.0.1:", "tf-config"} {
		if !strings.Contains(last, part) {
			t.Errorf("the last line has no %q: %s", part, last)
		}
	}
}

// TestClusterSilentProcessIsReplaced: a stopped worker loses its task to the process that was started in its
// place, and is refused when it resumes.
func TestClusterSilentProcessIsReplaced(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, endless)...)
	r.start()
	r.reach("worker-0", 40)
	r.signal(syscall.SIGSTOP, "worker-0")
	successor := r.twin(t, "worker-0", set(asynchronous, endless)...)
	successor.start("worker-0")
	at := successor.reach("worker-0", 40)
	r.signal(syscall.SIGCONT, "worker-0")
	r.exit("worker-0", 2)
	successor.reach("worker-0", at+1)
	r.running("chief-0", "ps-0")
}
