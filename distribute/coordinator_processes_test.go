package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// partitionerVariable, if set, makes tasks train a table that this partitioner splits.
const partitionerVariable = "GOESTIMATOR_COORDINATED_PARTITIONER"

// dirVariable makes the test binary a task of a job whose files are in that folder.
const dirVariable = "GOESTIMATOR_COORDINATED_DIR"

// actAsTask runs the task that TF_CONFIG names, if a test asks for it, and exits.
func actAsTask() {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return
	}
	if err := runTask(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runTask(dir string) error {
	rc, err := taskConfig(os.Getenv("TF_CONFIG"), dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc)
	}
	if rc.TaskType() == runconfig.Evaluator {
		return runEvaluator(ctx, rc, dir)
	}
	p, err := newWorker(rc, dir)
	if err != nil {
		return err
	}
	return errors.Join(p.Work(ctx), p.Close(ctx))
}

// newWorker returns the strategy of a worker of the test's program.
func newWorker(rc runconfig.RunConfig, dir string) (*distribute.Strategy, error) {
	if rc.TrainDistribute().Partitioner.Kind != "" {
		p, err := newTableProgram(rc)
		if err != nil {
			return nil, err
		}
		return p.Strategy, nil
	}
	p, err := newProcessProgram(rc, dir)
	if err != nil {
		return nil, err
	}
	return p.Strategy, nil
}

func taskConfig(text, dir string) (runconfig.RunConfig, error) {
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 12, RejoinSecs: 20, CallTimeoutSecs: 20, MaxMessageMB: 64}
	return runconfig.FromTFConfig(text, runconfig.ModelDir(filepath.Join(dir, "model")), runconfig.TFRandomSeed(1),
		runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: os.Getenv(partitionerVariable)}}), runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(60))
}

// processProgram has additional functions that write to files.
type processProgram struct {
	*lineProgram
	count, block, stubborn *distribute.Remote
	judging
}

func newProcessProgram(rc runconfig.RunConfig, dir string) (*processProgram, error) {
	line, err := newLineProgram(rc)
	if err != nil {
		return nil, err
	}
	p := &processProgram{lineProgram: line}
	if p.count, err = p.Remote("count", func(_ context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		n, err := call.Tensor(0)
		if err != nil {
			return nil, err
		}
		return []*tensor.Tensor{n}, appendLine(filepath.Join(dir, "runs"), fmt.Sprint(n.Int(0)))
	}); err != nil {
		return nil, err
	}
	p.block, err = p.Remote("block", func(ctx context.Context, _ *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		if err := appendLine(filepath.Join(dir, "blocked"), fmt.Sprint(rc.TaskID())); err != nil {
			return nil, err
		}
		return nil, awaitFile(ctx, filepath.Join(dir, "go"))
	})
	if err != nil {
		return nil, err
	}
	p.stubborn, err = p.Remote("stubborn", func(ctx context.Context, _ *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		if err := appendLine(filepath.Join(dir, "stubborn"), fmt.Sprint(rc.TaskID())); err != nil {
			return nil, err
		}
		return nil, awaitFile(context.WithoutCancel(ctx), filepath.Join(dir, "never"))
	})
	if err != nil {
		return nil, err
	}
	p.judging, err = newJudging(p.Strategy, heldShares(dir, rc.TaskID()))
	return p, err
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// awaitFile waits until a file has a line.
func awaitFile(ctx context.Context, path string) error {
	for {
		if f, err := os.Stat(path); err == nil && f.Size() > 0 {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// processes are the tasks of a job, except the chief, which is the test.
type processes struct {
	t       *testing.T
	dir     string
	task    string            // the environment variable that makes the binary a task
	configs map[string]string // TF_CONFIG by task
	running map[string]*process
}

type process struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// names returns the tasks of a job with two servers, the chief first.
var names = []replica.Task{{Type: replica.Chief}, {Type: replica.Worker}, {Type: replica.Worker, Index: 1}, {Type: replica.PS}, {Type: replica.PS, Index: 1}}

func newProcesses(t *testing.T) *processes { return newProcessesOf(t, 1) }

// newProcessesOf starts a job with the given number of servers.
func newProcessesOf(t *testing.T, servers int) *processes {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	tasks := names[:3+servers]
	p := emptyProcesses(t, tasks)
	p.task = dirVariable + "=" + p.dir
	for _, name := range tasks[1:] {
		p.start(name.String())
	}
	return p
}

// emptyProcesses starts no processes yet.
func emptyProcesses(t *testing.T, tasks []replica.Task) *processes {
	t.Helper()
	p := &processes{t: t, dir: t.TempDir(), configs: map[string]string{}, running: map[string]*process{}}
	ports, err := freeport.Reserve(len(tasks))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	cluster := map[string][]string{}
	for i, task := range tasks {
		cluster[task.Type] = append(cluster[task.Type], ports.Address(i))
	}
	for _, task := range tasks {
		p.configs[task.String()] = replica.TFConfig(cluster, task)
	}
	t.Cleanup(func() {
		for name := range p.running {
			p.kill(name)
		}
	})
	return p
}

func (p *processes) start(name string) {
	p.t.Helper()
	x := &process{cmd: exec.Command(os.Args[0])}
	x.cmd.Env = append(os.Environ(), p.task, "TF_CONFIG="+p.configs[name], "GORACE=atexit_sleep_ms=0")
	x.cmd.Stdout, x.cmd.Stderr = &x.out, &x.out
	if err := x.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.running[name] = x
}

func (p *processes) kill(name string) {
	x := p.running[name]
	delete(p.running, name)
	x.cmd.Process.Kill()
	x.cmd.Wait()
	if p.t.Failed() {
		p.t.Logf("%s:\n%s", name, x.out.String())
	}
}

// end waits for all to end by themselves.
func (p *processes) end() {
	for name, x := range p.running {
		if err := x.cmd.Wait(); err != nil {
			p.t.Errorf("%s: %v\n%s", name, err, x.out.String())
		}
		delete(p.running, name)
	}
}

// chief runs a program on the chief, and lets the job end.
func (p *processes) chief(program func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	rc, err := taskConfig(p.configs["chief-0"], p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	x, err := newProcessProgram(rc, p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	err = x.coordinate(ctx, func(ctx context.Context, _ *lineProgram, c *distribute.Coordinator) error { return program(ctx, x, c) })
	if err = errors.Join(err, x.Close(ctx)); err != nil {
		p.t.Fatal(err)
	}
	p.end()
}

// lines returns how often each line is in a file.
func (p *processes) lines(name string) map[string]int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]int{}
	for _, line := range strings.Fields(string(text)) {
		out[line]++
	}
	return out
}

// TestWorkerKilledBetweenFunctions: if workers are killed and started again while no
// function runs, each function runs exactly once.
func TestWorkerKilledBetweenFunctions(t *testing.T) {
	p := newProcesses(t)
	const rounds, each = 4, 20
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		data := c.CreatePerWorkerDataset(x.data)
		for round := range rounds {
			for i := range each {
				if _, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(round*each+i))); err != nil {
					return err
				}
				if _, err := c.Schedule(ctx, x.step, data); err != nil {
					return err
				}
			}
			if err := c.Join(ctx); err != nil {
				return err
			}
			worker := fmt.Sprint("worker-", round%2)
			p.kill(worker)
			p.start(worker)
		}
		return nil
	})
	runs := p.lines("runs")
	for i := range rounds * each {
		if n := runs[fmt.Sprint(i)]; n != 1 {
			t.Errorf("function %d ran %d times, expected once", i, n)
		}
	}
}

// TestWorkerKilledInFunction: the function runs again on another worker; then the killed
// one comes back.
func TestWorkerKilledInFunction(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		v, err := c.Schedule(ctx, x.block)
		if err == nil {
			err = awaitFile(ctx, filepath.Join(p.dir, "blocked"))
		}
		if err != nil {
			return err
		}
		first := "worker-0"
		if p.lines("blocked")["1"] > 0 {
			first = "worker-1"
		}
		p.kill(first)
		if err := appendLine(filepath.Join(p.dir, "go"), ""); err != nil {
			return err
		}
		if _, err := v.Fetch(ctx); err != nil {
			return err
		}
		p.start(first)
		data := c.CreatePerWorkerDataset(x.data)
		for range 20 {
			if _, err := c.Schedule(ctx, x.step, data); err != nil {
				return err
			}
		}
		return c.Join(ctx)
	})
	runs := p.lines("blocked")
	if n := runs["0"] + runs["1"]; n < 2 {
		t.Errorf("the function ran %d times, expected again: %v", n, runs)
	}
}

// TestWorkersKilledInALoop: workers are killed and started again while functions are
// queued and run. Each function has its result and ran at least once.
func TestWorkersKilledInALoop(t *testing.T) {
	p := newProcesses(t)
	const functions, kills = 300, 6
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		data := c.CreatePerWorkerDataset(x.data)
		var values []*distribute.RemoteValue
		for i := range functions {
			v, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(i)))
			if err != nil {
				return err
			}
			values = append(values, v)
			if _, err := c.Schedule(ctx, x.step, data); err != nil {
				return err
			}
		}
		for k := range kills {
			if _, err := values[k*functions/kills].Fetch(ctx); err != nil {
				return err
			}
			worker := fmt.Sprint("worker-", k%2)
			p.kill(worker)
			p.start(worker)
		}
		results, err := c.Fetch(ctx, values...)
		if err != nil {
			return err
		}
		for i, r := range results {
			if r[0].Int(0) != int64(i) {
				t.Errorf("function %d has the result of %d", i, r[0].Int(0))
			}
		}
		return c.Join(ctx)
	})
	runs := p.lines("runs")
	for i := range functions {
		if runs[fmt.Sprint(i)] < 1 {
			t.Errorf("function %d did not run", i)
		}
	}
}

// TestErrorWhileFunctionRuns: the other worker's function is ended before the error is
// returned, and its value says that it is cancelled.
func TestErrorWhileFunctionRuns(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		v, err := c.Schedule(ctx, x.block)
		if err == nil {
			err = awaitFile(ctx, filepath.Join(p.dir, "blocked"))
		}
		if err == nil {
			_, err = c.Schedule(ctx, x.fail)
		}
		if err != nil {
			return err
		}
		if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) {
			return fmt.Errorf("join: %w, expected the function's error", err)
		}
		if !v.Ready() {
			return errors.New("a function runs after the error was returned")
		}
		if _, err := c.Fetch(ctx, v); !errors.Is(err, distribute.ErrCancelled) {
			return fmt.Errorf("fetch: %w, expected ErrCancelled", err)
		}
		if _, err := c.Schedule(ctx, x.count, tensor.Scalar(int64(1))); err != nil {
			return err
		}
		return c.Join(ctx)
	})
}
