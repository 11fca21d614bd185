package tfjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/testkit/puppet"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	puppet.Main()
	goleak.VerifyTestMain(m)
}

// cluster is a job of puppets.
type cluster struct {
	*Operator
	t   *testing.T
	ctx context.Context
	dir string
}

// run starts replicas, such as "chief 1 Never", that do the given steps.
func run(t *testing.T, job Job, replicas []string, steps ...string) *cluster {
	t.Helper()
	dir := t.TempDir()
	job.Replicas = map[string]Replicas{}
	for _, text := range replicas {
		var typ, restart string
		var n int
		if _, err := fmt.Sscan(text, &typ, &n, &restart); err != nil {
			t.Fatal(err)
		}
		job.Replicas[typ] = Replicas{Count: n, Restart: replica.RestartPolicy(restart), Command: puppet.Command(steps...)}
	}
	job.Env = puppet.Env(dir)
	o, err := Start(job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return &cluster{o, t, ctx, dir}
}

func (c *cluster) until(wanted func(Status) bool) Status {
	c.t.Helper()
	s, err := c.WaitFor(c.ctx, wanted)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *cluster) touch(name string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), nil, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// ready waits until a puppet has reached its term or deaf step.
func (c *cluster) ready(task string) {
	c.t.Helper()
	for c.ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(c.dir, "ready-"+task)); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	c.t.Fatalf("%s did not get ready", task)
}

func phase(typ string, index int, phases ...Phase) func(Status) bool {
	return func(s Status) bool {
		p, ok := s.Pod(typ, index)
		return ok && slices.Contains(phases, p.Phase)
	}
}

// TestRestartMatrix is the table of tf-operator's tests: the fate of a parameter server that exits
// once, and of its job.
func TestRestartMatrix(t *testing.T) {
	codes := []int{0, 1, 127, 137, 138, 143}
	for policy, want := range map[replica.RestartPolicy][]string{
		replica.Always:    {"kubelet", "kubelet", "kubelet", "kubelet", "kubelet", "kubelet"},
		replica.OnFailure: {"done", "kubelet", "kubelet", "kubelet", "kubelet", "kubelet"},
		replica.Never:     {"done", "failed", "failed", "failed", "failed", "failed"},
		replica.ExitCode:  {"done", "failed", "failed", "operator", "operator", "operator"},
	} {
		for i, code := range codes {
			t.Run(fmt.Sprintf("%s/%d", policy, code), func(t *testing.T) {
				t.Parallel()
				if got := becomes(t, policy, code); got != want[i] {
					t.Errorf("got %s, want %s", got, want[i])
				}
			})
		}
	}
}

// becomes says who restarted a parameter server (kubelet, operator), or that it is done, or that
// the job has failed; otherwise it waits for the job to succeed.
func becomes(t *testing.T, policy replica.RestartPolicy, code int) string {
	c := run(t, Job{}, []string{"chief 1 Never", "ps 1 " + string(policy)},
		"chief=await:trained", fmt.Sprintf("ps=once:%d+term:0", code))
	s := c.until(func(s Status) bool {
		p, _ := s.Pod("ps", 0)
		return s.Finished() || p.Restarts() > 0 && p.PID != 0 || p.Phase == PodSucceeded
	})
	ps, _ := s.Pod("ps", 0)
	if s.Finished() {
		if ps.Restarts() != 0 || s.Message(Failed) != "TFJob job has failed because 1 PS replica(s) failed." {
			t.Errorf("status %+v", s)
		}
		return "failed"
	}
	c.touch("trained")
	if s = c.until(Status.Finished); !s.Is(Succeeded) || s.Is(Running) {
		t.Errorf("status %+v", s)
	}
	if got := s.Was(Restarting); got != (ps.Recreated > 0) {
		t.Errorf("Restarting was added: %v, recreated %d", got, ps.Recreated)
	}
	switch {
	case ps.Containers > 0:
		return "kubelet"
	case ps.Recreated > 0:
		return "operator"
	}
	return "done"
}

func TestSuccessPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		job      Job
		replicas []string
		steps    []string
		done     string // tasks that are done when the job has succeeded
		alive    string
	}{
		"chief":             {Job{}, []string{"chief 1 Never", "worker 2 Never", "ps 1 Never"}, []string{"chief=exit:0"}, "chief", "worker"},
		"master":            {Job{}, []string{"master 1 Never", "ps 1 Never"}, []string{"master=exit:0"}, "master", "ps"},
		"chief, AllWorkers": {Job{Success: AllWorkers}, []string{"chief 1 Never", "worker 1 Never"}, []string{"chief=exit:0"}, "chief", "worker"},
		"worker 0":          {Job{}, []string{"worker 2 Never", "ps 1 Never"}, []string{"worker-0=exit:0"}, "worker", "ps"},
		"all workers":       {Job{Success: AllWorkers}, []string{"worker 2 Never", "ps 1 Never"}, []string{"worker=exit:0"}, "worker", "ps"},
		"dynamic workers":   {Job{DynamicWorkers: true}, []string{"chief 1 Never", "worker 2 Never"}, []string{"worker=exit:1+forever", "chief=await:go"}, "chief", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c.job, c.replicas, append(c.steps, "*=forever")...)
			if c.job.DynamicWorkers {
				o.until(func(s Status) bool { return s.Replicas["worker"].Failed == 2 })
				o.touch("go")
			}
			s := o.until(Status.Finished)
			if p, _ := s.Pod(c.done, 0); !s.Is(Succeeded) || p.Phase != PodSucceeded {
				t.Errorf("status %+v", s)
			}
			if p, _ := s.Pod(c.alive, 0); c.alive != "" && p.Phase != PodRunning {
				t.Errorf("%+v under the clean-up policy None", p)
			}
		})
	}
}

// With AllWorkers, worker 0 alone is not enough.
func TestAllWorkersWaitsForAll(t *testing.T) {
	c := run(t, Job{Success: AllWorkers}, []string{"worker 2 Never"}, "worker-1=await:go")
	s := c.until(phase("worker", 0, PodSucceeded))
	if s.Finished() {
		t.Errorf("finished with worker 0: %+v", s)
	}
	c.touch("go")
	if s := c.until(Status.Finished); !s.Is(Succeeded) {
		t.Errorf("status %+v", s)
	}
}

func TestCleanPodPolicies(t *testing.T) {
	for policy, want := range map[CleanPodPolicy]map[string]Phase{
		CleanNone:    {"chief": PodSucceeded, "evaluator": PodRunning, "ps": PodRunning},
		CleanRunning: {"chief": PodSucceeded, "evaluator": PodDeleted, "ps": PodDeleted},
		CleanAll:     {"chief": PodDeleted, "evaluator": PodDeleted, "ps": PodDeleted},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			// The evaluator is in the middle of its last evaluation; the ps does not end by itself.
			c := run(t, Job{CleanPods: policy, Grace: time.Millisecond}, []string{"chief 1 ExitCode", "ps 1 ExitCode", "evaluator 1 ExitCode"},
				"chief=await:trained", "evaluator=term:143", "ps=deaf+forever")
			c.ready("evaluator-0")
			c.ready("ps-0")
			c.touch("trained")
			s := c.until(func(s Status) bool {
				for typ, p := range want {
					if !phase(typ, 0, p)(s) {
						return false
					}
				}
				return s.Finished()
			})
			if ps, _ := s.Pod("ps", 0); ps.Phase == PodDeleted && ps.ExitCode != 137 {
				t.Errorf("%+v, want it killed after its grace", ps)
			}
			if got := s.Replicas["ps"]; !s.Is(Succeeded) || got.Active != 0 && policy != CleanNone {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestKilledReplica(t *testing.T) {
	c := run(t, Job{}, []string{"chief 1 Never", "worker 1 ExitCode"}, "*=await:trained")
	before := c.until(func(s Status) bool { return s.Is(Running) })
	old, _ := before.Pod("worker", 0)
	if err := c.Signal("worker", 0, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s := c.until(func(s Status) bool {
		p, _ := s.Pod("worker", 0)
		return p.Recreated == 1 && p.PID != 0 && s.Is(Running)
	})
	if p, _ := s.Pod("worker", 0); p.PID == old.PID || p.ExitCode != 137 {
		t.Errorf("before %+v, now %+v", old, p)
	}
	c.touch("trained")
	s = c.until(Status.Finished)
	var types []ConditionType
	for _, x := range s.History {
		types = append(types, x.Type)
	}
	if diff := cmp.Diff([]ConditionType{Created, Running, Restarting, Running, Succeeded}, types); diff != "" {
		t.Error(diff)
	}
	if got := s.Conditions[len(s.Conditions)-1].Reason; got != "TFJobSucceeded" {
		t.Errorf("reason %q", got)
	}
	if err := c.Signal("chief", 0, syscall.SIGTERM); !errors.Is(err, ErrNotRunning) {
		t.Errorf("signal to a replica that has ended: %v", err)
	}
	if err := c.Signal("ps", 0, syscall.SIGTERM); !errors.Is(err, ErrNotRunning) {
		t.Errorf("signal to a replica that is not there: %v", err)
	}
}

// A pod that is deleted while it runs counts as failed.
func TestDeletedPodFailsTheJob(t *testing.T) {
	c := run(t, Job{}, []string{"chief 1 ExitCode", "worker 1 ExitCode"}, "*=term:143")
	c.until(func(s Status) bool { return s.Is(Running) })
	if err := c.Delete("worker", 0); err != nil {
		t.Fatal(err)
	}
	if s := c.until(Status.Finished); !s.Is(Failed) || s.Message(Failed) != "TFJob job has failed because 1 Worker replica(s) failed." {
		t.Errorf("status %+v", s)
	}
	c.until(phase("worker", 0, PodDeleted))
}

func TestBackoffLimit(t *testing.T) {
	limit := 2
	c := run(t, Job{BackoffLimit: &limit}, []string{"chief 1 OnFailure", "worker 1 OnFailure"}, "chief=forever", "worker=exit:1")
	s := c.until(func(s Status) bool { return s.Finished() && phase("chief", 0, PodDeleted)(s) })
	if !s.Is(Failed) || !strings.Contains(s.Message(Failed), "backoff limit") {
		t.Errorf("status %+v", s)
	}
}

// The limit does not count pods that the operator recreates.
func TestBackoffLimitDoesNotCountExitCode(t *testing.T) {
	limit := 1
	c := run(t, Job{BackoffLimit: &limit}, []string{"chief 1 Never", "worker 1 ExitCode"}, "chief=await:trained", "worker=exit:138")
	c.until(func(s Status) bool { p, _ := s.Pod("worker", 0); return p.Recreated > 3 && !s.Finished() })
	c.touch("trained")
	if s := c.until(Status.Finished); !s.Is(Succeeded) {
		t.Errorf("status %+v", s)
	}
}

// text is a buffer for several writers.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func TestTFConfig(t *testing.T) {
	addresses := map[string][]string{"worker": {"w:1", "w:2"}, "ps": {"p:1"}, "evaluator": {"e:1"}}
	for _, dynamic := range []bool{false, true} {
		var out text
		c := run(t, Job{Addresses: addresses, DynamicWorkers: dynamic, Output: &out, Success: AllWorkers},
			[]string{"worker 2 Never", "ps 1 Never", "evaluator 1 Never"}, "*=env:TF_CONFIG")
		c.until(func(s Status) bool {
			return s.Finished() && phase("ps", 0, PodSucceeded)(s) && phase("evaluator", 0, PodSucceeded)(s)
		})
		got := strings.Fields(out.b.String())
		want := []string{`TF_CONFIG={"cluster":{"evaluator":["e:1"],"ps":["p:1"],"worker":["w:1","w:2"]},"task":{"type":"worker","index":1},"environment":"cloud"}`}
		if dynamic {
			want = []string{
				`TF_CONFIG={"cluster":{"worker":{"1":"w:2"},"ps":["p:1"]},"task":{"type":"worker","index":1}}`,
				`TF_CONFIG={"cluster":{"worker":{},"ps":["p:1"]},"task":{"type":"ps","index":0}}`,
				`TF_CONFIG={"cluster":{"worker":{},"ps":[]},"task":{"type":"evaluator","index":0}}`,
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("dynamic %v: no %s in\n%s", dynamic, line, strings.Join(got, "\n"))
			}
		}
	}
}

func TestOneReplicaHasNoTFConfig(t *testing.T) {
	t.Setenv("TF_CONFIG", "old")
	var out text
	c := run(t, Job{Output: &out}, []string{"worker 1 Never"}, "*=env:TF_CONFIG")
	if s := c.until(Status.Finished); !s.Is(Succeeded) || out.b.String() != "TF_CONFIG=\n" {
		t.Errorf("got %q, %+v", out.b.String(), s)
	}
}

func TestWrongJobs(t *testing.T) {
	ok := Replicas{Count: 1, Command: []string{"true"}}
	for name, job := range map[string]Job{
		"nothing":            {},
		"unknown type":       {Replicas: map[string]Replicas{"cheif": ok}},
		"no command":         {Replicas: map[string]Replicas{"worker": {Count: 1}}},
		"no such command":    {Replicas: map[string]Replicas{"worker": {Count: 1, Command: []string{"/no/such"}}}},
		"chief and master":   {Replicas: map[string]Replicas{"chief": ok, "master": ok}},
		"too few addresses":  {Replicas: map[string]Replicas{"worker": ok}, Addresses: map[string][]string{}},
		"not even a replica": {Replicas: map[string]Replicas{"worker": {Command: []string{"true"}}}},
	} {
		if o, err := Start(job); err == nil {
			t.Errorf("%s was taken", name)
			o.Close()
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	c := run(t, Job{}, []string{"worker 1 Never"}, "*=forever")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
