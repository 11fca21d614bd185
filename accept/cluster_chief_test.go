package accept

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterChiefKilled kills the chief of a job with parameter servers: restarted, it
// takes over their variables, and no step is lost.
func TestClusterChiefKilled(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(asynchronous, "run.save_checkpoints_steps=100000")...)
	r.start()
	r.reach("chief-0", 200)
	r.reach("worker-0", 200)
	r.kill("chief-0")
	killed := time.Now()
	at := r.step("worker-0")
	r.reach("worker-0", at+200) // training does not need the chief
	r.start("chief-0")
	r.await("chief-0", `taking over the variables on the parameter servers global_step=\d+`)
	if n := r.reach("chief-0", 1); n < at+200 {
		t.Errorf("the chief goes on from step %d, the worker had reached %d", n, at+200)
	}
	t.Logf("the chief takes part again after %v", time.Since(killed))
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", 3000, 3001)
}

// TestClusterChiefAndServerKilled kills the chief and a parameter server:
// there are no variables to take over, so all tasks continue from the last checkpoint.
func TestClusterChiefAndServerKilled(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", asynchronous...)
	r.start()
	r.reach("worker-0", 500)
	r.kill("ps-1", "chief-0")
	saved := r.latest()
	r.start("ps-1", "chief-0")
	r.await("chief-0", `restored checkpoint`)
	if n := r.reach("chief-0", 1); n < saved || n > saved+300 {
		t.Errorf("the chief goes on from step %d, the last checkpoint was of step %d", n, saved)
	}
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("ps-1", 0)
	r.ended("chief-0", 3000, 3001)
}

// TestClusterChiefOfSyncKilled kills the chief of a synchronous job.
func TestClusterChiefOfSyncKilled(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(synchronous, "train.max_steps=1000")...)
	r.start()
	r.reach("chief-0", 250)
	r.kill("chief-0")
	r.start("chief-0")
	r.await("chief-0", `taking over the variables`)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 1000, 1000)
}

// TestClusterChiefComesLast kills the chief and restarts it after the workers have
// run all steps: it saves the last state and ends the servers.
func TestClusterChiefComesLast(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1000")...)
	r.start()
	r.reach("chief-0", 200)
	r.reach("worker-0", 200)
	r.kill("chief-0")
	r.exit("worker-0", 0)
	r.running("ps-0")
	r.start("chief-0")
	r.exit("ps-0", 0)
	r.ended("chief-0", 1000, 1002)
}

// TestClusterChiefKilledWhileSaving kills the chief at every step of a save.
func TestClusterChiefKilledWhileSaving(t *testing.T) {
	whole(t)
	for _, point := range savingPoints() {
		if point == "checkpoint/unusable-removed" || point == "checkpoint/broken-renamed" {
			continue // these need a damaged folder
		}
		t.Run(strings.ReplaceAll(point, "/", "_"), func(t *testing.T) {
			r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=6000", "run.save_checkpoints_steps=50")...)
			chief := r.tasks["chief-0"]
			chief.env = []string{"GOESTIMATOR_FAILPOINTS=" + point + "=kill@3"}
			r.start()
			r.exit("chief-0", 137)
			r.latest() // fails if it cannot be loaded
			chief.env = nil
			r.start("chief-0")
			r.await("chief-0", `taking over the variables`)
			r.exit("worker-0", 0)
			r.exit("ps-0", 0)
			r.ended("chief-0", 6000, 6001)
		})
	}
}

// TestClusterDamagedCheckpoint kills the chief and the server, and damages the
// newest checkpoint: training continues from the one before.
func TestClusterDamagedCheckpoint(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", asynchronous...)
	r.start()
	r.awaitCheckpoint(600)
	r.kill("ps-0", "chief-0", "worker-0")
	newest := r.latest()
	data := filepath.Join(r.dir, fmt.Sprintf("model.ckpt-%d.data-00000-of-00001", newest))
	if err := os.Truncate(data, 1000); err != nil {
		t.Fatal(err)
	}
	if before := r.latest(); before >= newest {
		t.Fatalf("the newest whole checkpoint is of step %d after that of step %d was damaged", before, newest)
	}
	before := r.latest()
	r.start()
	r.await("chief-0", fmt.Sprintf(`restored checkpoint .*global_step=%d\b`, before))
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.exit("chief-0", 0)
	if found, err := filepath.Glob(filepath.Join(r.dir, "*.broken*")); err != nil || len(found) == 0 {
		t.Errorf("the damaged checkpoint was not kept: %v", err)
	}
}

// TestClusterLateWorker stops a worker until the others have ended without it:
// the worker learns from model_dir that training is over.
func TestClusterLateWorker(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1000")...)
	r.start()
	r.reach("worker-0", 200)
	r.signal(syscall.SIGSTOP, "worker-0")
	r.exit("ps-0", 0)
	r.ended("chief-0", 1000, 1001)
	r.signal(syscall.SIGCONT, "worker-0")
	t.Logf("the worker ended after %v", r.exit("worker-0", 0))
}
