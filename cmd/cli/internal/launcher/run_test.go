package launcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/testkit/puppet"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	puppet.Main()
	goleak.VerifyTestMain(m)
}

// buffer is a bytes.Buffer for concurrent writers.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// local is a job of puppets with its own folder.
func local(t *testing.T, j Job, parts ...string) (Local, *buffer, string) {
	dir, out := t.TempDir(), &buffer{}
	j.Command = puppet.Command(parts...)
	if j.Restart == "" {
		j.Restart = replica.Never
	}
	if j.Grace == 0 {
		j.Grace = time.Minute
	}
	return Local{
		Job: j, Environ: append(os.Environ(), puppet.Env(dir)...), MaxRestarts: 3, FirstDelay: time.Millisecond,
		FinishTimeout: time.Minute, PSTimeout: time.Minute,
		Stdout: out, Stderr: out, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, out, dir
}

// outcome is the outcome of a task.
func outcome(t *testing.T, outcomes []Outcome, task string) Outcome {
	t.Helper()
	for _, o := range outcomes {
		if o.Task == task {
			return o
		}
	}
	t.Fatalf("no task %s in %v", task, outcomes)
	return Outcome{}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not come", path)
}

func TestSuccess(t *testing.T) {
	l, out, _ := local(t, Job{Chiefs: 1, Workers: 2, PS: 1, Evaluators: 1},
		"chief=say:trained+touch:trained+exit:0", "*=await:trained+exit:0")
	outcomes, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.ExitCode != 0 || o.End != "exited" || o.Restarts != 0 {
			t.Errorf("%+v", o)
		}
	}
	if got := out.String(); got != "[chief-0] trained\n" {
		t.Errorf("output %q", got)
	}
}

func TestWhoDoesNotEndIsTerminated(t *testing.T) {
	l, _, _ := local(t, Job{Workers: 1, PS: 1, Evaluators: 1}, "worker=await:ready-ps-0+await:ready-evaluator-0", "*=term:0")
	l.FinishTimeout = time.Millisecond
	outcomes, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	for task, end := range map[string]string{"worker-0": "exited", "ps-0": "terminated", "evaluator-0": "terminated"} {
		if got := outcome(t, outcomes, task); got.End != end || got.ExitCode != 0 {
			t.Errorf("%s: got %+v, want %s", task, got, end)
		}
	}
}

func TestWhoDoesNotListenIsKilled(t *testing.T) {
	l, _, _ := local(t, Job{Workers: 1, PS: 1, Grace: time.Millisecond}, "worker=await:ready-ps-0", "ps=deaf+forever")
	l.PSTimeout = time.Millisecond
	outcomes, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, outcomes, "ps-0"); got.End != "killed" || got.ExitCode != 137 {
		t.Errorf("%+v", got)
	}
}

// The evaluator gets its full time even if parameter servers never end.
func TestEvaluatorIsWaitedFor(t *testing.T) {
	l, _, _ := local(t, Job{Chiefs: 1, PS: 1, Evaluators: 1}, "chief=touch:trained", "evaluator=await:trained+say:best", "ps=term:143")
	l.PSTimeout = time.Millisecond
	outcomes, err := Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, outcomes, "evaluator-0"); got.End != "exited" {
		t.Errorf("%+v", got)
	}
	if got := outcome(t, outcomes, "ps-0"); got.End == "killed" || got.End == "exited" {
		t.Errorf("%+v", got)
	}
}

func TestFailureEndsTheJob(t *testing.T) {
	l, _, _ := local(t, Job{Chiefs: 1, Workers: 1, PS: 1},
		"chief=term:143", "ps=term:0", "worker=await:ready-chief-0+await:ready-ps-0+say:reading+warn:no such file+exit:7")
	outcomes, err := Run(context.Background(), l)
	var failed *TaskError
	if !errors.As(err, &failed) || failed.Task.String() != "worker-0" || failed.Code != 7 {
		t.Fatalf("got %v", err)
	}
	if len(failed.Lines) != 2 || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %q", err)
	}
	if got := outcome(t, outcomes, "chief-0"); got.End != "terminated" || got.ExitCode != 143 {
		t.Errorf("%+v", got)
	}
}

func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		policy   replica.RestartPolicy
		code     string
		restarts int
		fails    bool
	}{
		{replica.Never, "138", 0, true},
		{replica.ExitCode, "138", 1, false},
		{replica.ExitCode, "1", 0, true},
		{replica.OnFailure, "1", 1, false},
		{replica.OnFailure, "0", 0, false},
		{replica.Always, "0", 1, false},
	} {
		l, _, _ := local(t, Job{Workers: 2, Restart: c.policy}, "worker-0=await:again+exit:0", "worker-1=once:"+c.code+"+touch:again+exit:0")
		if c.restarts == 0 && !c.fails {
			l.Command = puppet.Command("worker-0=await:once-worker-1", "worker-1=once:0")
		}
		if c.policy == replica.Always { // otherwise worker 1 would restart until worker 0 is done
			l.MaxRestarts = 1
		}
		outcomes, err := Run(context.Background(), l)
		if (err != nil) != c.fails {
			t.Errorf("%s, exit %s: error %v", c.policy, c.code, err)
		}
		if got := outcome(t, outcomes, "worker-1"); got.Restarts != c.restarts {
			t.Errorf("%s, exit %s: %+v", c.policy, c.code, got)
		}
	}
}

func TestRestartsAreBounded(t *testing.T) {
	l, _, _ := local(t, Job{Workers: 1, Restart: replica.ExitCode}, "*=exit:138")
	_, err := Run(context.Background(), l)
	var failed *TaskError
	if !errors.As(err, &failed) || failed.Restarts != 3 || failed.Code != 138 {
		t.Errorf("got %v", err)
	}
}

func TestSignalIsPassedOn(t *testing.T) {
	l, out, dir := local(t, Job{Chiefs: 1, Workers: 1}, "*=term:143")
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		awaitFile(t, filepath.Join(dir, "ready-chief-0"))
		awaitFile(t, filepath.Join(dir, "ready-worker-0"))
		cancel(errors.New("signal: terminated"))
	}()
	_, err := Run(ctx, l)
	if !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "signal: terminated") {
		t.Errorf("got %v", err)
	}
	if got := strings.Count(out.String(), "saved"); got != 2 {
		t.Errorf("%d tasks saved: %q", got, out.String())
	}
}

func TestKill(t *testing.T) {
	l, _, dir := local(t, Job{Workers: 1}, "*=deaf+forever")
	kill := make(chan struct{})
	l.Kill = kill
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		awaitFile(t, filepath.Join(dir, "ready-alone"))
		cancel(errors.New("signal: interrupt"))
		close(kill)
	}()
	outcomes, err := Run(ctx, l)
	if !errors.Is(err, ErrKilled) || outcome(t, outcomes, "worker-0").End != "killed" {
		t.Errorf("got %v, %v", outcomes, err)
	}
}

func TestEnvironment(t *testing.T) {
	l, out, _ := local(t, Job{Workers: 1, PS: 1, Evaluators: 1, CoresPerTask: 2}, "worker=env:TF_CONFIG+env:GOMAXPROCS+env:LOCAL_RANK+env:LOCAL_WORLD_SIZE+env:"+JobIDEnv+"+env:"+TokenEnv)
	l.Environ = append(l.Environ, "TF_CONFIG=old")
	if _, err := Run(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	prefix := `[worker-0] TF_CONFIG={"cluster":{"evaluator":["127.0.0.1:`
	if !strings.HasPrefix(text, prefix) || !strings.Contains(text, `"task":{"type":"worker","index":0},"environment":"cloud"}`) {
		t.Errorf("got %s", text)
	}
	if !strings.Contains(text, "GOMAXPROCS=2\n") || !strings.Contains(text, "LOCAL_RANK=0\n") || !strings.Contains(text, "LOCAL_WORLD_SIZE=1\n") {
		t.Errorf("got %s", text)
	}
	if !regexp.MustCompile(JobIDEnv + "=launch-[0-9a-f]{16}\n").MatchString(text) {
		t.Errorf("no name of the job in %s", text)
	}
	_, token, _ := strings.Cut(text, TokenEnv+"=")
	if len(strings.TrimSpace(token)) != 64 {
		t.Errorf("token %q", token)
	}
}

func TestOneTaskHasNoTFConfig(t *testing.T) {
	l, out, _ := local(t, Job{Workers: 1}, "*=env:TF_CONFIG+env:"+TokenEnv+"+env:"+JobIDEnv)
	l.Environ = append(l.Environ, "TF_CONFIG=old", TokenEnv+"=mine", JobIDEnv+"=mine too")
	if _, err := Run(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "[worker-0] TF_CONFIG=\n[worker-0] "+TokenEnv+"=mine\n[worker-0] "+JobIDEnv+"=mine too\n" {
		t.Errorf("got %q", got)
	}
}

func TestLogFiles(t *testing.T) {
	l, _, dir := local(t, Job{Workers: 2, Restart: replica.ExitCode}, "worker-0=await:again", "worker-1=say:out+warn:err+once:138+touch:again")
	l.LogDir = filepath.Join(dir, "a", "logs")
	if _, err := Run(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(l.LogDir, "worker-1.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line, n := range map[string]int{"out\n": 2, "err\n": 2, " start 1 of worker-1\n": 1, " start 2 of worker-1\n": 1} {
		if got := strings.Count(string(text), line); got != n {
			t.Errorf("%q: %d times, want %d, in\n%s", line, got, n, text)
		}
	}
}

func TestValidate(t *testing.T) {
	command := []string{"true"}
	for _, j := range []Job{
		{}, {Command: command}, {Chiefs: 2, Command: command}, {Workers: -1, Command: command}, {Workers: 1}, {PS: 1, Command: command},
		{Chiefs: 1, Evaluators: 2, Command: command}, {Workers: 1 << 40, Command: command}, {Workers: 1, Command: command, CoresPerTask: -1},
		{Workers: 1, Command: command, Grace: -1},
	} {
		if err := j.Validate(); err == nil {
			t.Errorf("%+v was taken", j)
		}
	}
}
