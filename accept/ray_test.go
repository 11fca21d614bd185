package accept

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
)

// rayPython returns a Python that has Ray: GOESTIMATOR_RAY_PYTHON, or else python3.
func rayPython(t *testing.T) string {
	t.Helper()
	python := cmp.Or(os.Getenv("GOESTIMATOR_RAY_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import ray").CombinedOutput(); err != nil {
		t.Skipf("skipped: %s does not have Ray: set GOESTIMATOR_RAY_PYTHON: %s", python, lastLine(string(out)))
	}
	return python
}

// TestRay runs a driver written by launch on a real Ray cluster of three nodes. A node with tasks is killed: the job
// restarts on the other, continues from its checkpoint and ends.
func TestRay(t *testing.T) {
	whole(t)
	python := rayPython(t)
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	log := newSink()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last lines:\n%s", tail(log.String()))
		}
	})
	cluster := exec.Command(python, "-u", filepath.Join(testkit.Root(), "accept/testdata/ray_cluster.py"))
	commands, err := cluster.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cluster.Stdout, cluster.Stderr = log, log
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		commands.Close()
		_ = cluster.Wait() // its end is not what is tested
	})
	address := strings.Fields(log.line(t, "address "))[1]

	dir, steps := filepath.Join(t.TempDir(), "model"), 60_000
	driver := filepath.Join(t.TempDir(), "driver.py")
	text, err := exec.Command(path, "launch", "--on", "ray", "--name", "accept", "--chief", "1", "--workers", "1", "--ps", "1", "--model-dir", dir, "--grace", "10s", "--",
		path, "train", "--config", filepath.Join(testkit.Root(), "accept/testdata/cluster.yaml"), "--set", "strategy.name=parameter_server",
		"--set", fmt.Sprintf("train.max_steps=%d", steps), "--set", "run.save_checkpoints_steps=2000", "--set", "run.log_step_count_steps=2000").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(driver, text, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Command{Args: []string{python, "-u", driver}, Env: append(os.Environ(), "RAY_ADDRESS="+address, "NO_COLOR=1"), Stdout: log, Stderr: log, Linger: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	saved := func() (step int64) {
		if prefix, err := checkpoint.LatestPrefix(dir); err == nil {
			step, _ = checkpoint.StepOf(prefix)
		}
		return step
	}
	for until := time.Now().Add(2 * patience); saved() < 2000; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no checkpoint")
		}
	}
	at := saved()
	if _, err := io.WriteString(commands, "kill 0\n"); err != nil {
		t.Fatal(err)
	}
	log.line(t, "killed")
	log.line(t, "start 1 of the job ended with")
	select {
	case <-p.Done():
	case <-time.After(3 * patience):
		t.Fatalf("the driver goes on at step %d", saved())
	}
	if p.ExitCode() != 0 || saved() < int64(steps) || at >= int64(steps) {
		t.Errorf("exit code %d at step %d, the node was killed at %d", p.ExitCode(), saved(), at)
	}
}
