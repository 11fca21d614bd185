package accept

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/testkit/tfjob"
)

// output is the output of all replicas of a job.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// tfJob is a job of the operator with its own model_dir.
type tfJob struct {
	*tfjob.Operator
	t   *testing.T
	dir string
	out *output
}

// startTFJob starts replicas such as {"chief": 1}, all with the same restart policy.
// change, which may be nil, changes the job.
func startTFJob(t *testing.T, counts map[string]int, policy replica.RestartPolicy, args []string, change func(*tfjob.Job)) *tfJob {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	j := &tfJob{t: t, dir: filepath.Join(t.TempDir(), "model"), out: &output{}}
	command := append([]string{path, "train", "--config", filepath.Join(testkit.Root(), "accept/testdata/cluster.yaml"), "--set", "model_dir=" + j.dir}, args...)
	job := tfjob.Job{Replicas: map[string]tfjob.Replicas{}, CleanPods: tfjob.CleanNone, Output: j.out, Env: []string{"GOMAXPROCS=1"}}
	for typ, n := range counts {
		job.Replicas[typ] = tfjob.Replicas{Count: n, Restart: policy, Command: command}
	}
	if change != nil {
		change(&job)
	}
	if j.Operator, err = tfjob.Start(job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the last lines of the job:\n%s", tail(j.out.String()))
		}
	})
	return j
}

// awaitStep waits for a checkpoint of step n or later.
func (j *tfJob) awaitStep(n int64) {
	j.t.Helper()
	until := time.Now().Add(patience)
	for tick := time.NewTicker(20 * time.Millisecond); time.Now().Before(until); <-tick.C {
		if prefix, err := checkpoint.LatestPrefix(j.dir); err == nil {
			if step, _ := checkpoint.StepOf(prefix); step >= n {
				return
			}
		}
	}
	j.t.Fatalf("there is no checkpoint of a step from %d on after %v", n, patience)
}

// wait waits until the job's status is as wanted.
func (j *tfJob) wait(what string, wanted func(tfjob.Status) bool) tfjob.Status {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	s, err := j.WaitFor(ctx, wanted)
	if err != nil {
		j.t.Fatalf("waiting for %s: %v; conditions %+v", what, err, s.Conditions)
	}
	return s
}

// TestClusterTFJob kills a worker and terminates the parameter server of a job
// under the operator's rules; the job succeeds, and all pods end by themselves.
func TestClusterTFJob(t *testing.T) {
	long(t)
	j := startTFJob(t, map[string]int{"chief": 1, "worker": 2, "ps": 1, "evaluator": 1}, replica.ExitCode, asynchronous, nil)
	j.awaitStep(400)
	if err := j.Signal("worker", 0, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	j.wait("the worker's restart", func(s tfjob.Status) bool { p, _ := s.Pod("worker", 0); return p.Recreated == 1 && p.PID != 0 })
	j.awaitStep(800)
	// Delete would not do: for the operator, a running pod that is being deleted is a failure of the job.
	if err := j.Signal("ps", 0, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s := j.wait("success", tfjob.Status.Finished)
	if !s.Is(tfjob.Succeeded) {
		t.Fatalf("the job has failed: %s", s.Message(tfjob.Failed))
	}
	s = j.wait("the end of all pods", func(s tfjob.Status) bool {
		for _, p := range s.Pods {
			if p.PID != 0 {
				return false
			}
		}
		return true
	})
	for _, p := range s.Pods {
		want := 0
		if p.Type == "ps" && p.Recreated == 0 {
			want = 143 // the job was done before the server had ended
		}
		if p.ExitCode != want {
			t.Errorf("%s-%d: exit code %d, expected %d", p.Type, p.Index, p.ExitCode, want)
		}
	}
	if prefix, err := checkpoint.LatestPrefix(j.dir); err != nil || !strings.Contains(prefix, "model.ckpt-300") {
		t.Errorf("the last checkpoint is %s (%v), expected of step 3000 to 3002", prefix, err)
	}
}

// TestClusterTFJobRestartPolicies kills a worker under each restart policy.
func TestClusterTFJobRestartPolicies(t *testing.T) {
	for policy, succeeds := range map[replica.RestartPolicy]bool{replica.Always: true, replica.OnFailure: true, replica.ExitCode: true, replica.Never: false} {
		t.Run(string(policy), func(t *testing.T) {
			whole(t)
			args := set(allReduce, "train.max_steps=600", "rpc.rejoin_secs=10")
			j := startTFJob(t, map[string]int{"chief": 1, "worker": 1}, policy, args, func(job *tfjob.Job) {
				if policy == replica.Always { // the chief would be restarted without end
					chief := job.Replicas["chief"]
					chief.Restart = replica.OnFailure
					job.Replicas["chief"] = chief
				}
			})
			j.awaitStep(200)
			if err := j.Signal("worker", 0, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			s := j.wait("the end", tfjob.Status.Finished)
			if s.Is(tfjob.Succeeded) != succeeds {
				t.Errorf("conditions %+v, expected success %v", s.Conditions, succeeds)
			}
			if p, _ := s.Pod("worker", 0); (p.Restarts() > 0) != succeeds {
				t.Errorf("the worker was started again %d times", p.Restarts())
			}
		})
	}
}

// TestClusterTFJobExitCodes checks how the operator handles the program's
// exit codes. 2 is permanent. 138 is retried until the restart budget is used up,
// which gives 1.
func TestClusterTFJobExitCodes(t *testing.T) {
	t.Run("mistake", func(t *testing.T) {
		whole(t)
		j := startTFJob(t, map[string]int{"chief": 1, "worker": 1}, replica.ExitCode, set(allReduce, "train.no_such_key=1"), nil)
		s := j.wait("the end", tfjob.Status.Finished)
		p, _ := s.Pod("chief", 0)
		if !s.Is(tfjob.Failed) || s.Was(tfjob.Restarting) || p.ExitCode != 2 && p.PID == 0 {
			t.Errorf("conditions %+v, pods %+v: expected a failure by exit code 2", s.Conditions, s.Pods)
		}
	})
	t.Run("crash_loop", func(t *testing.T) {
		long(t)
		args := set(asynchronous, "run.session_creation_timeout_secs=1", "run.max_restarts=3")
		j := startTFJob(t, map[string]int{"chief": 1, "ps": 1}, replica.ExitCode, args, func(job *tfjob.Job) {
			job.Replicas["ps"] = tfjob.Replicas{Count: 1, Command: []string{"sleep", "600"}}
		})
		s := j.wait("the end", tfjob.Status.Finished)
		p, _ := s.Pod("chief", 0)
		if !s.Is(tfjob.Failed) || p.ExitCode != 1 || p.Recreated != 3 {
			t.Errorf("conditions %+v, chief %+v: expected a failure by exit code 1 after 3 restarts", s.Conditions, p)
		}
		if !strings.Contains(j.out.String(), "gave up after 3 starts") {
			t.Errorf("the reasons are missing")
		}
	})
}

// TestClusterTFJobDynamicWorkers runs a job whose workers only know themselves
// and the parameter servers.
func TestClusterTFJobDynamicWorkers(t *testing.T) {
	whole(t)
	j := startTFJob(t, map[string]int{"ps": 2, "worker": 2}, replica.ExitCode, set(asynchronous, "train.max_steps=1500"), func(job *tfjob.Job) { job.DynamicWorkers = true })
	j.awaitStep(400)
	if err := j.Signal("worker", 1, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s := j.wait("the end", tfjob.Status.Finished)
	if !s.Is(tfjob.Succeeded) {
		t.Fatalf("the job has failed: %s", s.Message(tfjob.Failed))
	}
	j.wait("the servers' end", func(s tfjob.Status) bool {
		for i := range 2 {
			if p, _ := s.Pod("ps", i); p.PID != 0 {
				return false
			}
		}
		return true
	})
	if _, err := os.Stat(filepath.Join(j.dir, "state.json")); err != nil {
		t.Error(err)
	}
}
