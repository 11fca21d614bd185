package accept

import (
	"strconv"
	"syscall"
	"testing"
)

// elastic are the settings of a job whose workers go and come.
var elastic = set(allReduce, "strategy.elastic.min=1")

// ring waits for a ring of so many workers, tells for how long there was no step, and returns its first step.
func (r *rig) ring(name string, from, workers int) int64 {
	r.t.Helper()
	m := r.awaitFrom(name, from, patience, `the ring of workers trains.* workers=`+strconv.Itoa(workers)+` .* global_step=(\d+)(?:.* secs_without_step=([\d.]+))?`)
	step, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("%d workers from step %d on, after %s s without a step", workers, step, m[2])
	return step
}

// TestClusterElasticWorkerKilled: the others go on in their processes, from the step that
// they were at; the worker joins them when it is started again, and another leaves on SIGTERM. All end with the chief.
func TestClusterElasticWorkerKilled(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 worker-1", set(elastic, "train.max_steps=1000000", "run.save_checkpoints_steps=1000000")...)
	r.start()
	r.ring("chief-0", 0, 3)
	at := r.reach("chief-0", 200)
	from := r.at("chief-0")
	r.kill("worker-1")
	if went := r.ring("chief-0", from, 2); went < at {
		t.Errorf("the others went on at step %d, expected %d or later", went, at)
	}
	from = r.at("chief-0")
	r.start("worker-1")
	if joined := r.ring("worker-1", 0, 3); joined < at {
		t.Errorf("the worker joined at step %d, expected %d or later", joined, at)
	}
	r.ring("chief-0", from, 3)
	from = r.at("chief-0")
	r.signal(syscall.SIGTERM, "worker-0")
	r.exit("worker-0", 143)
	r.ring("chief-0", from, 2)
	r.signal(syscall.SIGTERM, "chief-0")
	r.exit("worker-1", 143)
	r.exit("chief-0", 143)
	if saved := r.latest(); saved < at {
		t.Errorf("the last checkpoint is of step %d, expected %d or later", saved, at)
	}
	r.clean()
}
