package distribute_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
)

// loopJob is a cluster of processes, each with the same loop.
type loopJob struct {
	*processes
	task loopTask
}

// newLoopJob starts all tasks. The named ones wait before step 12.
func newLoopJob(t *testing.T, c setup, waiting string, timeout int) *loopJob {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	tasks := []replica.Task{{Type: replica.Chief}, {Type: replica.Worker}}[:c.workers]
	for i := range c.servers {
		tasks = append(tasks, replica.Task{Type: replica.PS, Index: i})
	}
	j := &loopJob{processes: emptyProcesses(t, tasks)}
	j.task = loopTask{Dir: j.dir, Strategy: c.strategy, PeerTimeout: timeout}
	for _, name := range tasks {
		task := j.task
		if strings.Contains(waiting, name.String()) {
			task.WaitAt = loopSteps / 2
		}
		j.begin(name.String(), task)
	}
	return j
}

// begin starts a task.
func (j *loopJob) begin(name string, task loopTask) {
	j.t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		j.t.Fatal(err)
	}
	j.processes.task = loopVariable + "=" + string(text)
	j.start(name)
}

// awaitWaiting waits until that many tasks have reached the step before which they wait.
func (j *loopJob) awaitWaiting(tasks int) {
	j.t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		text, err := os.ReadFile(filepath.Join(j.dir, "waiting"))
		if err == nil && strings.Count(string(text), "\n") >= tasks {
			return
		}
		select {
		case <-tick.C:
		case <-j.t.Context().Done():
			j.t.Fatal("the tasks have not come to the step before which they wait")
		}
	}
}

// exit waits for a task's end.
func (j *loopJob) exit(name string, code int) {
	j.t.Helper()
	x := j.running[name]
	timer := time.AfterFunc(time.Minute, func() { _ = x.cmd.Process.Kill() })
	defer timer.Stop()
	err := x.cmd.Wait()
	delete(j.running, name)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		j.t.Fatal(err)
	}
	if got != code {
		j.t.Errorf("%s: exit code %d, expected %d\n%s", name, got, code, x.out.String())
	}
}

// end returns what the chief saw at the end, after all tasks ended without errors.
func (j *loopJob) ended() map[string][]float64 {
	j.t.Helper()
	for name := range j.configs {
		j.exit(name, 0)
	}
	text, err := os.ReadFile(filepath.Join(j.dir, "end"))
	if err != nil {
		j.t.Fatal(err)
	}
	end := map[string][]float64{}
	if err := json.Unmarshal(text, &end); err != nil {
		j.t.Fatal(err)
	}
	return end
}

// undisturbed returns the end of one process that makes the same steps.
func undisturbed(t *testing.T) map[string][]float64 {
	t.Helper()
	j := newLoopJob(t, setups[0], "", 12)
	return j.ended()
}

func expectSameEnd(t *testing.T, want, got map[string][]float64) {
	t.Helper()
	for name, w := range want {
		g := got[name]
		if len(g) != len(w) {
			t.Errorf("%s: %d numbers, expected %d", name, len(g), len(w))
			continue
		}
		for i := range w {
			if !(math.Abs(w[i]-g[i]) <= 1e-4) {
				t.Errorf("%s[%d]: %v, expected %v", name, i, g[i], w[i])
				break
			}
		}
	}
}

// TestTaskKilled: a task is killed in the middle of the loop and started again. The others see that the session is lost, all
// continue from the newest checkpoint, and the result equals that of one undisturbed process.
func TestTaskKilled(t *testing.T) {
	ring := setup{"multi_worker_mirrored", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0}
	sync := setup{"parameter_server sync", runconfig.Strategy{Name: "parameter_server", Sync: true}, 2, 2}
	async := setup{"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 2, 1}
	want := undisturbed(t)
	for _, c := range []struct {
		setup
		waiting, killed string
		long            bool
	}{
		{ring, "worker-0", "worker-0", false},
		{ring, "chief-0", "chief-0", true},
		{sync, "chief-0", "ps-1", true},
		{sync, "worker-0", "worker-0", true},
		{sync, "chief-0", "chief-0", true},
		{async, "chief-0 worker-0", "ps-0", false},
		{async, "chief-0", "chief-0", true},
		{async, "worker-0", "worker-0", true},
	} {
		t.Run(c.name+" "+c.killed, func(t *testing.T) {
			if c.long && os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			j := newLoopJob(t, c.setup, c.waiting, 12)
			j.awaitWaiting(strings.Count(c.waiting, " ") + 1)
			j.kill(c.killed)
			j.begin(c.killed, j.task)
			if err := appendLine(filepath.Join(j.dir, "go"), ""); err != nil {
				t.Fatal(err)
			}
			got := j.ended()
			if step := got["global_step"]; len(step) != 1 || step[0] != loopSteps {
				t.Errorf("global step %v, expected %d", step, loopSteps)
			}
			if c.servers > 0 { // updates of metrics are separate from steps
				got["accuracy"] = want["accuracy"]
			}
			if c.name != "parameter_server" { // otherwise the order of the steps is random
				expectSameEnd(t, want, got)
			}
			if strings.HasPrefix(c.killed, "ps") || c.setup.servers == 0 {
				if n := j.lines("lost")["once"]; n == 0 {
					t.Error("no task saw that the session was lost")
				}
			}
		})
	}
}

// TestTaskNeverReturns: tasks that need one that stays away end within the deadline, with the exit code that asks for a restart.
func TestTaskNeverReturns(t *testing.T) {
	for _, c := range []struct {
		setup
		waiting, killed string
		long            bool
	}{
		{setup{"multi_worker_mirrored", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0}, "worker-0", "worker-0", false},
		{setup{"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 2, 1}, "chief-0 worker-0", "ps-0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			j := newLoopJob(t, c.setup, c.waiting, 2)
			j.awaitWaiting(strings.Count(c.waiting, " ") + 1)
			j.kill(c.killed)
			if err := appendLine(filepath.Join(j.dir, "go"), ""); err != nil {
				t.Fatal(err)
			}
			for name := range j.configs {
				if name != c.killed {
					j.exit(name, estimator.ExitPeerLost)
				}
			}
		})
	}
}
