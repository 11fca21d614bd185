package accept

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/internal/failpoint"
)

// job is a small run with everything that has state: dropout, a partial
// shuffle buffer, prefetching, several checkpoints kept.
func job(dir, steps string) []string {
	return []string{"--config", "configs/glyphs.yaml", "--set", "model_dir=" + dir, "--set", "train.max_steps=" + steps,
		"--set", "model.name=cnn", "--set", "model.params={classes: 10, dropout: 0.3}",
		"--set", "train.input.count=3000", "--set", "train.input.shuffle=700", "--set", "train.input.repeat=true",
		"--set", "train.input.batch_size=16", "--set", "eval.input.count=100",
		"--set", "run.save_checkpoints_steps=25", "--set", "run.keep_checkpoint_max=3", "--set", "eval.throttle_secs=3600"}
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

// TestKills kills a run at random moments and restarts it until it has been
// killed often enough; then it must finish, with the same bytes as a run in one go.
func TestKills(t *testing.T) {
	kills, steps := 50, "4000"
	if !long(t) {
		kills, steps = 6, "600"
	}
	whole, killed := t.TempDir(), t.TempDir()
	begun := time.Now()
	train(t, job(whole, steps)...)
	span := time.Since(begun)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; one run takes %v", seed, span.Round(time.Millisecond))
	r := rand.New(rand.NewPCG(seed, 0))
	n := 0
	for n < kills {
		cmd := command(t, append([]string{"train"}, job(killed, steps)...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Twice the fair share, on average: part of each run repeats what was lost.
		time.Sleep(time.Duration(r.Float64() * 4 * float64(span) / float64(kills)))
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if err == nil {
			t.Logf("finished after %d kills", n)
			break
		}
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("after %d kills: %v", n, err)
		}
		n++
	}
	if n < kills {
		t.Errorf("the run finished after %d of %d kills: lengthen it", n, kills)
	}
	train(t, job(killed, steps)...)
	compare(t, whole, killed, steps)
}

// TestCrashPoints crashes a run at every point of saving, each time in a folder
// that has checkpoints already, and lets it finish afterwards.
func TestCrashPoints(t *testing.T) {
	whole := long(t)
	reference := t.TempDir()
	train(t, job(reference, "100")...)
	points := failpoint.Names("")
	if len(points) == 0 {
		t.Fatal("no failpoints are registered")
	}
	for i, point := range points {
		if !whole && i%4 != 0 {
			continue
		}
		t.Run(strings.ReplaceAll(point, "/", "_"), func(t *testing.T) {
			dir := t.TempDir()
			train(t, job(dir, "50")...)
			cmd := command(t, append([]string{"train"}, job(dir, "100")...)...)
			cmd.Env = append(os.Environ(), "GOESTIMATOR_FAILPOINTS="+point+"=kill@2")
			err := cmd.Run()
			r, oerr := checkpoint.OpenLatest(t.Context(), dir)
			if oerr != nil {
				t.Fatalf("after a crash at %s (%v): no checkpoint loads: %v", point, err, oerr)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			train(t, job(dir, "100")...)
			compare(t, reference, dir, "100")
		})
	}
}

// TestSIGTERM stops a run by a signal: a checkpoint, exit 143, and an exact continuation.
func TestSIGTERM(t *testing.T) {
	long(t)
	whole, stopped := t.TempDir(), t.TempDir()
	train(t, job(whole, "400")...)
	cmd := command(t, append([]string{"train"}, job(stopped, "400")...)...)
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
	if step, _ := checkpoint.StepOf(prefix); step < 100 || step >= 400 {
		t.Errorf("stopped with the checkpoint of step %d, expected one in 100..399", step)
	}
	train(t, job(stopped, "400")...)
	compare(t, whole, stopped, "400")
}
