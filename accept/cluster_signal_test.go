package accept

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// checkpoints counts the checkpoints in model_dir.
func (r *rig) checkpoints() int {
	found, err := filepath.Glob(filepath.Join(r.dir, "model.ckpt-*.index"))
	if err != nil {
		r.t.Fatal(err)
	}
	return len(found)
}

// TestClusterTerminated sends SIGTERM to all tasks: they end with 143 after one
// checkpoint, and resume there when restarted.
func TestClusterTerminated(t *testing.T) {
	cases := []struct {
		name, tasks string
		args        []string
		short       bool
		beyond      int64 // upper limit on the steps after the last one
	}{
		{"all_reduce", "chief-0 worker-0", allReduce, true, 0},
		{"one_worker", "chief-0 ps-0 ps-1", asynchronous, true, 0},
		{"asynchronous", "chief-0 worker-0 ps-0 ps-1", asynchronous, false, 1},
		{"synchronous", "chief-0 worker-0 ps-0", synchronous, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !long(t) && !c.short {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			args := set(c.args, "run.save_checkpoints_steps=1000000000")
			r := newRig(t, c.tasks, set(args, "train.max_steps=1000000000")...) // runs until the signal
			r.start()
			r.reach("chief-0", 200)
			before := r.checkpoints()
			var names []string
			for name := range r.tasks {
				names = append(names, name)
			}
			r.signal(syscall.SIGTERM, names...)
			for _, name := range names {
				t.Logf("%s ended after %v", name, r.exit(name, 143))
			}
			if n := r.checkpoints() - before; n != 1 {
				t.Errorf("%d checkpoints were written, expected 1", n)
			}
			saved := r.latest()
			last := saved + 400
			args = set(args, fmt.Sprintf("train.max_steps=%d", last))
			r.args = args
			r.start()
			r.await("chief-0", fmt.Sprintf(`restored checkpoint .*global_step=%d\b`, saved))
			for _, name := range names {
				r.exit(name, 0)
			}
			r.ended("chief-0", last, last+c.beyond)
			if len(names) > 3 || c.name == "synchronous" {
				return // updates have another order in each run
			}
			undisturbed := newRig(t, c.tasks, args...)
			undisturbed.start()
			undisturbed.ended("chief-0", last, last)
			compare(t, undisturbed.dir, r.dir, fmt.Sprint(last))
		})
	}
}

// TestClusterWorkerTerminated sends SIGTERM to one worker: with parameter servers
// it leaves and the others continue, with all-reduce all stop at the same step.
func TestClusterWorkerTerminated(t *testing.T) {
	t.Run("asynchronous", func(t *testing.T) {
		whole(t)
		r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1500")...)
		r.start()
		r.reach("worker-0", 100)
		r.signal(syscall.SIGTERM, "worker-0")
		r.exit("worker-0", 143)
		r.exit("ps-0", 0)
		r.ended("chief-0", 1500, 1500)
	})
	t.Run("all_reduce", func(t *testing.T) {
		whole(t)
		r := newRig(t, "chief-0 worker-0 worker-1", set(allReduce, "train.max_steps=1000", "run.save_checkpoints_steps=100000")...)
		r.start()
		r.reach("worker-0", 100)
		r.signal(syscall.SIGTERM, "worker-0")
		for _, name := range []string{"worker-0", "worker-1", "chief-0"} {
			r.exit(name, 143)
		}
		if n := r.checkpoints(); n != 2 { // including step 0
			t.Errorf("%d checkpoints, expected that of step 0 and one more", n)
		}
		r.start()
		r.ended("chief-0", 1000, 1000)
	})
}

// TestClusterChiefTerminated evicts the chief of a job with parameter servers.
func TestClusterChiefTerminated(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "run.save_checkpoints_steps=100000")...)
	r.start()
	r.reach("worker-0", 200)
	r.reach("chief-0", 200)
	r.signal(syscall.SIGTERM, "chief-0")
	r.exit("chief-0", 143)
	at := r.step("worker-0")
	if saved := r.latest(); saved < at-100 {
		t.Errorf("the checkpoint is of step %d, the worker is at %d", saved, at)
	}
	r.reach("worker-0", at+200)
	r.start("chief-0")
	r.await("chief-0", `taking over the variables`)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 3000, 3001)
}

// TestClusterServerTerminated evicts a parameter server whose variables are not saved: it
// serves for a while and ends. After its restart it gets the variables again. The
// number of steps is set once it is back, since the others train meanwhile.
func TestClusterServerTerminated(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1000000000")...)
	r.start()
	r.reach("worker-0", 300)
	r.signal(syscall.SIGTERM, "ps-0")
	t.Logf("the server ended after %v", r.exit("ps-0", 143))
	r.start("ps-0")
	lost, err := strconv.ParseInt(r.await("worker-0", `synchronize again global_step=(\d+)`)[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	r.reach("worker-0", lost+200)
	r.signal(syscall.SIGTERM, "chief-0", "worker-0", "ps-0")
	for name := range r.tasks {
		r.exit(name, 143)
	}
	last := r.latest() + 500
	r.args = set(asynchronous, fmt.Sprintf("train.max_steps=%d", last))
	r.start()
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", last, last+1)
}

// snapshot lists a folder's files with size and time.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	out := ""
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestClusterRestartAfterCompletion restarts the tasks of a finished job,
// individually and together: they end at once with 0 and write nothing.
func TestClusterRestartAfterCompletion(t *testing.T) {
	cases := []struct {
		name, tasks string
		args        []string
	}{
		{"parameter_server", "chief-0 worker-0 ps-0 evaluator-0", asynchronous},
		{"all_reduce", "chief-0 worker-0 evaluator-0", allReduce},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			long(t)
			r := newRig(t, c.tasks, set(c.args, "train.max_steps=100", "run.experimental_max_worker_delay_secs=60")...)
			if c.name == "parameter_server" {
				r.tasks["worker-0"].args = set(nil, "run.experimental_max_worker_delay_secs=0")
			}
			r.start()
			for name := range r.tasks {
				r.exit(name, 0)
			}
			r.tasks["worker-0"].args = nil
			before := snapshot(t, r.dir)
			for _, name := range []string{"worker-0", "evaluator-0", "chief-0"} {
				if name == "chief-0" && r.tasks["ps-0"] != nil {
					r.start("ps-0")
				}
				r.start(name)
				took := r.exit(name, 0)
				t.Logf("%s ended after %v", name, took)
			}
			if r.tasks["ps-0"] != nil {
				r.exit("ps-0", 0)
			}
			if after := snapshot(t, r.dir); after != before {
				t.Errorf("files were written:\nbefore\n%s\nafter\n%s", before, after)
			}
		})
	}
}
