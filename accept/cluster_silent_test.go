package accept

import (
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// silent are the settings of an elastic job with a short timeout.
var silent = set(elastic, "train.max_steps=1000000", "rpc.peer_timeout_secs=5")

// TestClusterElasticWorkerStopped: after the peer timeout, the others continue without a worker whose process is stopped. When it
// resumes, it joins like a new one.
func TestClusterElasticWorkerStopped(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1", silent...)
	r.start()
	at := r.reach("chief-0", 200)
	from := r.at("chief-0")
	r.signal(syscall.SIGSTOP, "worker-1")
	stopped := time.Now()
	if went := r.ring("chief-0", from, 2); went < at {
		t.Errorf("the others went on at step %d, expected %d or later", went, at)
	}
	t.Logf("the others went on after %v", time.Since(stopped))
	from, woken := r.at("chief-0"), r.at("worker-1")
	r.signal(syscall.SIGCONT, "worker-1")
	joined := r.ring("chief-0", from, 3)
	r.awaitFrom("worker-1", woken, patience, `the ring of workers trains.* workers=3`)
	r.reach("worker-1", joined+20)
	r.signal(syscall.SIGTERM, "chief-0")
	for _, name := range []string{"worker-0", "worker-1", "chief-0"} {
		r.exit(name, 143)
	}
	r.clean()
}

// TestClusterElasticChiefStopped: a worker takes the place of a chief whose process is stopped, although the chief holds the
// lock of model_dir. When the former chief resumes, it writes nothing and ends; restarted, it trains as a worker.
func TestClusterElasticChiefStopped(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1", silent...)
	r.start()
	at := r.reach("worker-0", 200)
	from, second := r.at("worker-0"), r.at("worker-1")
	r.signal(syscall.SIGSTOP, "chief-0")
	stopped := time.Now()
	if went := r.ring("worker-0", from, 2); went < at {
		t.Errorf("the others went on at step %d, expected %d or later", went, at)
	}
	t.Logf("the others went on after %v", time.Since(stopped))
	r.ring("worker-1", second, 2)
	r.awaitFrom("worker-0", from, patience, "takes the chief's place")
	saved := r.awaitCheckpoint(r.step("worker-0") + 1)
	woken := r.at("chief-0")
	r.signal(syscall.SIGCONT, "chief-0")
	r.exit("chief-0", 138)
	r.awaitFrom("chief-0", woken, patience, "another process has taken")
	r.reach("worker-1", saved+100)
	r.start("chief-0")
	r.await("chief-0", "trains as a worker")
	joined := r.ring("chief-0", 0, 3)
	r.reach("worker-1", joined+100)
	r.signal(syscall.SIGTERM, "worker-0")
	for _, name := range []string{"worker-0", "worker-1", "chief-0"} {
		r.exit(name, 143)
	}
	if last := r.latest(); last < joined+100 {
		t.Errorf("the last checkpoint is of step %d, expected %d or later", last, joined+100)
	}
	r.clean()
}

// TestClusterElasticWorkerCutOff drops all traffic between a worker and the others, which continue without it. It does not take
// the place of a chief that renews its lock, and joins again once the network is back.
func TestClusterElasticWorkerCutOff(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 worker-1", set(silent, "run.job_id=cut")...)
	var cut []*clustertest.Proxy
	for _, other := range []string{"chief-0", "worker-0"} {
		cut = append(cut, r.proxy(other, "worker-1"), r.proxy("worker-1", other))
	}
	r.start()
	at := r.reach("chief-0", 200)
	from, own := r.at("chief-0"), r.at("worker-1")
	for _, p := range cut {
		p.Drop()
	}
	if went := r.ring("chief-0", from, 2); went < at {
		t.Errorf("the others went on at step %d, expected %d or later", went, at)
	}
	r.awaitFrom("worker-1", own, patience, "taking the chief's place: model_dir is in use")
	from = r.at("chief-0")
	for _, p := range cut {
		p.Heal()
	}
	joined := r.ring("chief-0", from, 3)
	r.reach("worker-1", joined+20)
	r.signal(syscall.SIGTERM, "chief-0")
	for _, name := range []string{"worker-0", "worker-1", "chief-0"} {
		r.exit(name, 143)
	}
	r.clean()
}
