package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/runconfig"
)

// errKilled ends a task that does not tell the others.
var errKilled = fmt.Errorf("killed: %w", estimator.ErrPeerLost)

// patient lets workers wait for others for as long as a slow machine takes to end one.
var patient = runconfig.Connections(runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: 30, CallTimeoutSecs: 20, MaxMessageMB: 64})

// TestElasticChiefGoes: a worker takes the chief's place, continues from the same step, and saves the last one; the
// former chief comes back as a worker.
func TestElasticChiefGoes(t *testing.T) {
	for _, workers := range []int{2, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) { elasticChief(t, workers) })
	}
}

// arriving calls then when a task has joined its job, before it synchronizes.
type arriving struct {
	hooks.Base
	then func()
}

func (a arriving) Begin(hooks.Setup) error { a.then(); return nil }

func elasticChief(t *testing.T, workers int) {
	t.Helper()
	dir := t.TempDir()
	var second watched
	killed := make(chan struct{})
	came := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(killed) })
	res := trainCluster(t, dir, workers, 0, elastic(runconfig.Elastic{Min: 1}), func(rank int, m *member) {
		m.run = append(m.run, runconfig.SaveCheckpointsSteps(20), patient)
		m.opts = []estimator.TrainOption{estimator.MaxSteps(60)}
		switch rank {
		case 0:
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				_, err := e.Train(ctx, m.input, estimator.MaxSteps(60), estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
					if r.GlobalStep() == 25 {
						return errKilled
					}
					return nil
				}}))
				if !errors.Is(err, estimator.ErrPeerLost) {
					return estimator.TrainResult{}, fmt.Errorf("expected the end of the chief, got %w", err)
				}
				<-killed
				arrive := sync.OnceFunc(func() { close(came) })
				defer arrive()
				return e.Train(ctx, m.input, estimator.MaxSteps(60), estimator.WithHooks(arriving{then: arrive}))
			}
		case 1:
			m.opts = append(m.opts, estimator.WithHooks(second.hook(), hookFuncs{after: func(r hooks.Run) error {
				if r.GlobalStep() == 30 {
					goOn()
					<-came // else training might be over before the chief asks
				}
				return nil
			}}))
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				defer goOn() // if it fails
				return e.Train(ctx, m.input, m.opts...)
			}
		}
	})
	for i, r := range res {
		if r.err != nil || r.GlobalStep != 60 {
			t.Errorf("%s %d: step %d, %v", r.task, i, r.GlobalStep, r.err)
		}
	}
	prefix, err := checkpoint.LatestPrefix(dir)
	if step, _ := checkpoint.StepOf(prefix); err != nil || step != 60 {
		t.Errorf("the last checkpoint is %s, %v, expected that of step 60", prefix, err)
	}
	second.near(t, 60)
}

// TestElasticChiefComesBackOtherwise: a former chief with other settings ends, and the others train on.
func TestElasticChiefComesBackOtherwise(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: waits for a lost task")
	}
	took, refused := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(took) })
	res := trainCluster(t, t.TempDir(), 2, 0, elastic(runconfig.Elastic{Min: 1}), func(rank int, m *member) {
		m.fn, m.input = estimator.ModelFunc(numberedModel), estimator.InputFunc(numberedRows) // endless
		m.run = append(m.run, patient)
		if rank == 0 {
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				defer close(refused)
				_, err := e.Train(ctx, m.input, estimator.WithHooks(hookFuncs{after: func(hooks.Run) error { return errKilled }}))
				if !errors.Is(err, errKilled) {
					return estimator.TrainResult{}, fmt.Errorf("expected the end of the chief, got %w", err)
				}
				<-took
				return e.Train(ctx, m.input, estimator.MaxSteps(1e6))
			}
			return
		}
		m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
			defer goOn() // if it fails
			return e.Train(ctx, m.input, estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
				if r.GlobalStep() == 10 {
					goOn()
				}
				select {
				case <-refused:
					r.RequestStop("enough")
				default:
				}
				return nil
			}}))
		}
	})
	if err := res[0].err; estimator.ExitCode(err) != 2 || !strings.Contains(err.Error(), "max_steps") {
		t.Errorf("the former chief ended with %v", err)
	}
	if err := res[1].err; err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

// TestElasticChiefGoesWithItsFolder: a worker with a model_dir of its own cannot take the chief's place, and says so.
func TestElasticChiefGoesWithItsFolder(t *testing.T) {
	res := trainCluster(t, t.TempDir(), 2, 0, elastic(runconfig.Elastic{Min: 1}), func(rank int, m *member) {
		m.opts = []estimator.TrainOption{estimator.MaxSteps(60)}
		if rank == 0 {
			m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(hooks.Run) error { return errKilled }}))
			return
		}
		m.run = append(m.run, runconfig.ModelDir(t.TempDir()))
	})
	if err := res[1].err; !errors.Is(err, estimator.ErrPeerLost) || !strings.Contains(err.Error(), "is not the chief's: share it") {
		t.Errorf("the worker ended with %v", err)
	}
}

// TestElasticWithoutSeed: workers that draw seeds of their own would not read the same batches.
func TestElasticWithoutSeed(t *testing.T) {
	rc, err := runconfig.FromTFConfig(equalTasks(t, 2, 0)[1], runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(elastic(runconfig.Elastic{Min: 1})))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Train(t.Context(), estimator.InputFunc(equalData)); err == nil || !strings.Contains(err.Error(), "set seed") {
		t.Errorf("got %v", err)
	}
}
