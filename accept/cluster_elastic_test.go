package accept

import (
	"math"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// elastic are the settings of a job whose workers come and go. With this timeout, a short stop of a process does not count as a loss.
var elastic = set(allReduce, "strategy.elastic.min=1", "rpc.peer_timeout_secs=30")

// ring waits for a ring with so many workers, logs how long there was no step, and returns its first step.
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

// TestClusterElasticWorkerKilled: the other tasks continue in their processes from their current
// step; the restarted worker joins them, and another one leaves on SIGTERM. All end with the chief.
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

// loss is the loss of the last step of a task that has ended.
func (r *rig) loss(name string) float64 {
	r.t.Helper()
	x, err := strconv.ParseFloat(r.await(name, `(?m)^train_loss=(.*)$`)[1], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// TestClusterElasticLoss: killing and restarting a worker changes the last loss by less than another seed does.
func TestClusterElasticLoss(t *testing.T) {
	steps, seeds := 3000, 5
	if !long(t) {
		steps, seeds = 1500, 3
	}
	job := func(seed int) *rig {
		return newRig(t, "chief-0 worker-0 worker-1", set(elastic, "train.max_steps="+strconv.Itoa(steps), "seed="+strconv.Itoa(seed))...)
	}
	var undisturbed []float64
	for seed := 1; seed <= seeds; seed++ {
		r := job(seed)
		r.start()
		r.ended("chief-0", int64(steps), int64(steps))
		undisturbed = append(undisturbed, r.loss("chief-0"))
	}
	r := job(1)
	r.start()
	r.reach("worker-1", 100)
	from := r.at("chief-0")
	r.kill("worker-1")
	r.ring("chief-0", from, 2)
	r.signal(syscall.SIGSTOP, "chief-0") // the worker must be back before the last step
	r.start("worker-1")
	r.listening("worker-1")
	r.signal(syscall.SIGCONT, "chief-0")
	r.ring("worker-1", 0, 3)
	r.ended("chief-0", int64(steps), int64(steps))
	got, spread := r.loss("chief-0"), slices.Max(undisturbed)-slices.Min(undisturbed)
	t.Logf("loss %v, undisturbed %v (spread %v)", got, undisturbed, spread)
	if math.Abs(got-undisturbed[0]) >= spread {
		t.Errorf("loss %v, undisturbed %v: expected a difference below the spread over seeds, %v", got, undisturbed[0], spread)
	}
}

// TestClusterElasticChiefKilled: a worker takes the chief's place without losing a step, saves checkpoints, and accepts
// the former chief as a worker. A signal to the new chief ends the job.
func TestClusterElasticChiefKilled(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 worker-1", set(elastic, "train.max_steps=1000000")...)
	r.start()
	at := r.reach("worker-0", 100)
	from, second := r.at("worker-0"), r.at("worker-1")
	r.kill("chief-0")
	if went := r.ring("worker-0", from, 2); went < at {
		t.Errorf("the others went on at step %d, expected %d or later", went, at)
	}
	r.ring("worker-1", second, 2)
	r.awaitFrom("worker-0", from, patience, "takes the chief's place")
	r.start("chief-0")
	r.await("chief-0", "trains as a worker")
	joined := r.ring("chief-0", 0, 3)
	r.reach("worker-1", joined+100)
	r.signal(syscall.SIGTERM, "worker-0")
	for _, name := range []string{"worker-0", "worker-1", "chief-0"} {
		r.exit(name, 143)
	}
	if saved := r.latest(); saved < joined+100 {
		t.Errorf("the last checkpoint is of step %d, expected %d or later", saved, joined+100)
	}
	r.clean()
}
