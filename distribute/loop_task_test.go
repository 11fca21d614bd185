package distribute_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// loopVariable makes the test binary a task that runs a custom loop: a loopTask as JSON.
const loopVariable = "GOESTIMATOR_LOOP_TASK"

// loopSteps is the number of steps of a pass of the loop, over all tasks.
const loopSteps = 24

// loopTask is a process that trains over the data once, and continues after lost sessions.
type loopTask struct {
	Dir         string
	Strategy    runconfig.Strategy
	PeerTimeout int   // seconds
	WaitAt      int64 // the task waits before that step until it is killed or the file "go" exists; 0: never
}

// actAsLoop runs the task that a test asks for, and exits.
func actAsLoop() {
	text := os.Getenv(loopVariable)
	if text == "" {
		return
	}
	var l loopTask
	err := json.Unmarshal([]byte(text), &l)
	if err == nil {
		err = l.main(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(estimator.ExitCode(err))
}

func (l loopTask) main(ctx context.Context) error {
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: float64(l.PeerTimeout), RejoinSecs: float64(l.PeerTimeout), CallTimeoutSecs: 20, MaxMessageMB: 64}
	rc, err := runconfig.FromTFConfig(os.Getenv("TF_CONFIG"), runconfig.ModelDir(filepath.Join(l.Dir, "model")), runconfig.TFRandomSeed(1),
		runconfig.TrainDistribute(l.Strategy), runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(l.PeerTimeout+10))
	if err != nil {
		return err
	}
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc)
	}
	s, err := distribute.New(rc)
	if err != nil {
		return err
	}
	y, err := newToy(s, exiting{}, toyBatch*loopSteps, adam())
	if err == nil {
		err = l.loop(ctx, y)
	}
	return errors.Join(err, s.Close(ctx))
}

// loop makes all steps, however often the session is lost, and records the end.
func (l loopTask) loop(ctx context.Context, y *toy) error {
	for {
		_, err := y.Restore(ctx)
		if err == nil {
			err = l.pass(ctx, y)
		}
		if err == nil {
			return l.note(y)
		}
		if !errors.Is(err, distribute.ErrSessionLost) {
			return err
		}
		fmt.Fprintln(os.Stderr, "lost:", err)
		if err := appendLine(filepath.Join(l.Dir, "lost"), "once"); err != nil {
			return err
		}
	}
}

// pass continues to the end of the data.
func (l loopTask) pass(ctx context.Context, y *toy) error {
	it, err := y.data.Iterate(ctx)
	if err != nil {
		return err
	}
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && l.WaitAt > 0 && y.GlobalStep()+1 >= l.WaitAt {
			if err = appendLine(filepath.Join(l.Dir, "waiting"), "once"); err == nil {
				err = awaitFile(ctx, filepath.Join(l.Dir, "go"))
			}
		}
		if err == nil {
			_, err = y.train.Run(ctx, batch)
		}
		if err == nil && y.GlobalStep()%5 == 0 {
			_, err = y.Save(ctx)
		}
		if err != nil {
			return err
		}
	}
	if y.Name() == "parameter_server" && y.IsChief() { // its Close ends the others
		return awaitStep(y, loopSteps)
	}
	return nil
}

// awaitStep waits until all tasks together have made that many steps.
func awaitStep(y *toy, want int64) error {
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		n, err := y.Variable("global_step")
		if err != nil || n.Int(0) == want {
			return err
		}
		if n.Int(0) > want {
			return fmt.Errorf("step %d, expected %d", n.Int(0), want)
		}
	}
}

// note writes what the chief sees at the end: weights and the metric.
func (l loopTask) note(y *toy) error {
	if y.Name() == "parameter_server" && !y.IsChief() {
		return nil
	}
	v, err := y.seen.Result(context.Background())
	if err != nil || !y.IsChief() {
		return err
	}
	accuracy, _ := v.Scalar()
	end := map[string][]float64{"accuracy": {accuracy}}
	for _, name := range y.VariableNames() {
		if !isModels(name) {
			continue
		}
		t, err := y.Variable(name)
		if err != nil {
			return err
		}
		end[name] = floats(t)
	}
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "end"), text, 0o600)
}

// exiting is a testing.TB of a process that is no test.
type exiting struct{ testing.TB }

func (exiting) Helper() {}

func (exiting) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(estimator.ExitError)
}

func floats(t *tensor.Tensor) (out []float64) {
	for i := range t.Len() {
		out = append(out, t.Float(i))
	}
	return out
}
