package estimator_test

import (
	"context"
	"errors"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// member is one task of a small cluster in this process.
type member struct {
	text  string // TF_CONFIG
	fn    estimator.ModelFn
	input estimator.InputFn
	run   []runconfig.Option
	opts  []estimator.TrainOption
	est   []estimator.Option
	ctx   context.Context
	log   *slog.Logger
	train func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) // nil: Train
}

// ended is how a task ended.
type ended struct {
	task string
	estimator.TrainResult
	err error
}

// trainCluster runs workers and parameter servers, each an Estimator of this
// process. adjust sets the differences of a task. Parameter servers are asked to
// end once all workers have ended.
func trainCluster(t *testing.T, dir string, workers, servers int, s runconfig.Strategy, adjust func(rank int, m *member)) []ended {
	t.Helper()
	all, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var tasks, serving sync.WaitGroup
	out := make([]ended, workers+servers)
	for i, text := range equalTasks(t, workers, servers) {
		m := &member{text: text, fn: equalModel(rule.Momentum{Momentum: 0.9}, 0.05, true), input: estimator.InputFunc(equalData), ctx: all, log: slog.New(slog.DiscardHandler)}
		rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: 2, CallTimeoutSecs: 20, MaxMessageMB: 64}
		m.run = []runconfig.Option{runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.TrainDistribute(s),
			runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(30)}
		if i < workers && adjust != nil {
			adjust(i, m)
		}
		rc, err := runconfig.FromTFConfig(m.text, m.run...)
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(m.fn, append(m.est, estimator.WithRunConfig(rc), estimator.WithLogger(m.log))...)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if i >= workers {
			serving.Go(func() {
				err := e.RunParameterServer(all)
				if errors.Is(err, estimator.ErrInterrupted) {
					err = nil
				}
				out[i] = ended{task: rc.TaskType(), err: err}
			})
			continue
		}
		tasks.Go(func() {
			if m.train == nil {
				m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
					return e.Train(ctx, m.input, m.opts...)
				}
			}
			res, err := m.train(m.ctx, e)
			out[i] = ended{rc.TaskType(), res, err}
		})
	}
	tasks.Wait()
	stop()
	serving.Wait()
	return out
}

// TestInterruptedClusterResumesExactly: a synchronous cluster that is interrupted and
// resumed has the same losses as an uninterrupted one.
func TestInterruptedClusterResumesExactly(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		s       runconfig.Strategy
	}{
		{"multi_worker_mirrored", 0, runconfig.Strategy{Name: "multi_worker_mirrored"}},
		{"parameter_server", 2, runconfig.Strategy{Name: "parameter_server", Sync: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const workers, last = 3, 30
			whole := lossesOf(t, t.TempDir(), workers, c.servers, c.s, nil, last)
			dir := t.TempDir()
			pieces := map[stepOf]float64{}
			for who, at := range []int64{4, 11, 17} {
				maps.Copy(pieces, lossesOf(t, dir, workers, c.servers, c.s, &at, last, who))
			}
			maps.Copy(pieces, lossesOf(t, dir, workers, c.servers, c.s, nil, last))
			for at, got := range pieces {
				if want := whole[at]; math.Abs(got-want) > 1e-5*math.Abs(want) {
					t.Errorf("step %d of worker %d: loss %v, without interruption %v", at.step, at.rank, got, want)
				}
			}
			for step := range int64(last) {
				if !slices.ContainsFunc([]int{0, 1, 2}, func(rank int) bool { _, ok := pieces[stepOf{step + 1, rank}]; return ok }) {
					t.Errorf("step %d was not made by any worker", step+1)
				}
			}
		})
	}
}

// stepOf is one worker's record of a step.
type stepOf struct {
	step int64
	rank int
}

// lossesOf trains and returns all losses. Training runs to the last step, or until a hook
// of one task interrupts all tasks after a step.
func lossesOf(t *testing.T, dir string, workers, servers int, s runconfig.Strategy, at *int64, last int64, who ...int) map[stepOf]float64 {
	t.Helper()
	var mu sync.Mutex
	out := map[stepOf]float64{}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	res := trainCluster(t, dir, workers, servers, s, func(rank int, m *member) {
		m.ctx = ctx
		hs := []hooks.Hook{hookFuncs{after: func(r hooks.Run) error {
			v, err := r.Value("loss") // the NaN guard fetches it
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			out[stepOf{r.GlobalStep(), rank}] = v.Float(0)
			return nil
		}}}
		if at != nil && slices.Contains(who, rank) {
			hs = append(hs, &cancelAt{step: *at, cancel: cancel})
		}
		m.opts = []estimator.TrainOption{estimator.MaxSteps(last), estimator.WithHooks(hs...)}
	})
	for _, r := range res[:workers] {
		if at == nil && r.err != nil || at != nil && !errors.Is(r.err, estimator.ErrInterrupted) {
			t.Fatalf("%s: %v", r.task, r.err)
		}
	}
	return out
}
