package accept

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
)

// job returns the arguments of a small run with every kind of state.
func job(dir, steps string) []string {
	return []string{"--config", "accept/testdata/job.yaml", "--set", "model_dir=" + dir, "--set", "train.max_steps=" + steps}
}

// compare reports files of the last checkpoint that differ.
func compare(t *testing.T, a, b, step string) {
	t.Helper()
	for _, suffix := range []string{".index", ".data-00000-of-00001"} {
		x, err := os.ReadFile(filepath.Join(a, "model.ckpt-"+step+suffix))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, "model.ckpt-"+step+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("model.ckpt-%s%s: the killed run's differs from the uninterrupted one's", step, suffix)
		}
	}
}

// TestKills kills a run at random moments and restarts the same command each
// time. In the end its bytes must equal those of an uninterrupted run.
func TestKills(t *testing.T) {
	kills := 50
	if !long(t) {
		kills = 8
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	killed := t.TempDir()
	none := func() bool {
		_, err := checkpoint.LatestPrefix(killed)
		return errors.Is(err, checkpoint.ErrNone)
	}
	longest := 1500 * time.Millisecond
	for n := 0; n < kills || n < 5*kills && none(); n++ {
		if n >= kills { // the machine is slow: no run has reached a checkpoint
			longest += time.Second
		}
		cmd := command(t, append([]string{"train"}, job(killed, "1000000000")...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(longest))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the run ended by itself: %v", err)
		}
	}
	prefix, err := checkpoint.LatestPrefix(killed)
	if err != nil {
		t.Fatal(err)
	}
	step, _ := checkpoint.StepOf(prefix)
	last := strconv.FormatInt(step+33, 10)
	t.Logf("%d kills, last checkpoint of step %d; both runs go on to step %s", kills, step, last)
	train(t, job(killed, last)...)
	whole := t.TempDir()
	train(t, job(whole, last)...)
	compare(t, whole, killed, last)
}

// savingPoints returns the points during saving where a process may crash.
func savingPoints() []string {
	return append(failpoint.Names("bundle/"), failpoint.Names("checkpoint/")...)
}

// TestCrashPoints crashes a run at every point of saving, each time in a folder
// that already has checkpoints, and then lets it finish.
func TestCrashPoints(t *testing.T) {
	whole := long(t)
	reference := t.TempDir()
	train(t, job(reference, "100")...)
	points := savingPoints()
	if len(points) == 0 {
		t.Fatal("no failpoints are registered")
	}
	for i, point := range points {
		// These need a damaged folder at the start: the tests of the checkpoint package crash there.
		if !whole && i%4 != 0 || point == "checkpoint/unusable-removed" || point == "checkpoint/broken-renamed" {
			continue
		}
		t.Run(strings.ReplaceAll(point, "/", "_"), func(t *testing.T) {
			dir := t.TempDir()
			train(t, job(dir, "50")...)
			cmd := command(t, append([]string{"train"}, job(dir, "100")...)...)
			cmd.Env = append(os.Environ(), "GOESTIMATOR_FAILPOINTS="+point+"=kill@2")
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the run did not crash at %s: %v", point, err)
			}
			r, err := checkpoint.OpenLatest(t.Context(), dir)
			if err != nil {
				t.Fatalf("after a crash at %s: no checkpoint loads: %v", point, err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			train(t, job(dir, "100")...)
			compare(t, reference, dir, "100")
		})
	}
}

// TestSIGTERM stops a run with a signal: it saves a checkpoint, exits with 143, and can be continued exactly.
func TestSIGTERM(t *testing.T) {
	long(t)
	stopped := t.TempDir()
	cmd := command(t, append([]string{"train"}, job(stopped, "1000000000")...)...) // it does not end before the signal
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(log.String(), "step=100 ") {
		n, err := stderr.Read(buf)
		if err != nil {
			t.Fatalf("no line of step 100: %v\n%s", err, log.String())
		}
		log.Write(buf[:n])
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := log.ReadFrom(stderr); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 143 {
		t.Fatalf("got %v, expected exit code 143\n%s", err, tail(log.String()))
	}
	prefix, err := checkpoint.LatestPrefix(stopped)
	if err != nil {
		t.Fatal(err)
	}
	step, _ := checkpoint.StepOf(prefix)
	if step < 100 {
		t.Errorf("stopped with the checkpoint of step %d, expected one from 100 on", step)
	}
	last := strconv.FormatInt(step+133, 10)
	train(t, job(stopped, last)...)
	whole := t.TempDir()
	train(t, job(whole, last)...)
	compare(t, whole, stopped, last)
}
