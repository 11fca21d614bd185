package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
)

// hookFuncs is a hook made of functions.
type hookFuncs struct {
	hooks.Base
	after func(hooks.Run) error
	end   func()
}

func (h hookFuncs) AfterRun(_ context.Context, r hooks.Run) error {
	if h.after == nil {
		return nil
	}
	return h.after(r)
}

func (h hookFuncs) End(context.Context, hooks.Run) error {
	if h.end != nil {
		h.end()
	}
	return nil
}

var synchronous = []struct {
	name    string
	servers int
	s       runconfig.Strategy
}{
	{"multi_worker_mirrored", 0, runconfig.Strategy{Name: "multi_worker_mirrored"}},
	{"parameter_server", 2, runconfig.Strategy{Name: "parameter_server", Sync: true}},
}

// TestClusterEndsWithSlowWorker: a worker that is slow to end has not failed.
func TestClusterEndsWithSlowWorker(t *testing.T) {
	for _, r := range trainCluster(t, t.TempDir(), 2, 0, runconfig.Strategy{Name: "multi_worker_mirrored"}, func(rank int, m *member) {
		m.opts = []estimator.TrainOption{estimator.MaxSteps(3)}
		if rank == 1 {
			m.run = append(m.run, runconfig.ModelDir(t.TempDir())) // in which no task reports an end
			m.opts = append(m.opts, estimator.WithHooks(hookFuncs{end: func() { time.Sleep(2500 * time.Millisecond) }}))
		}
	}) {
		if r.err != nil {
			t.Errorf("%s: %v", r.task, r.err)
		}
	}
}

// TestClusterStopsTogether: if a hook of one worker asks to stop, all workers stop at the same
// step.
func TestClusterStopsTogether(t *testing.T) {
	for _, c := range synchronous {
		for who := range 2 {
			t.Run(fmt.Sprintf("%s/rank %d", c.name, who), func(t *testing.T) {
				res := trainCluster(t, t.TempDir(), 2, c.servers, c.s, func(rank int, m *member) {
					m.opts = []estimator.TrainOption{estimator.MaxSteps(50)}
					if rank == who {
						m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
							if r.GlobalStep() >= 4 {
								r.RequestStop("enough")
							}
							return nil
						}}))
					}
				})
				for i, r := range res {
					want := estimator.StopOtherTask
					if i == who {
						want = "enough"
					}
					if r.err != nil || i < 2 && (r.GlobalStep != res[0].GlobalStep || r.GlobalStep < 4 || r.GlobalStep > 5 || r.StopReason != want) {
						t.Errorf("%s: %+v", r.task, r)
					}
				}
			})
		}
	}
}

// TestClusterWorkerFails: the others wait for it, then ask to be restarted, and
// continue from the last checkpoint.
func TestClusterWorkerFails(t *testing.T) {
	s := runconfig.Strategy{Name: "multi_worker_mirrored"}
	dir, broken := t.TempDir(), errors.New("broken")
	whole := lossesOf(t, t.TempDir(), 2, 0, s, nil, 20)
	for i, r := range trainCluster(t, dir, 2, 0, s, func(rank int, m *member) {
		m.run = append(m.run, runconfig.SaveCheckpointsSteps(5))
		m.opts = []estimator.TrainOption{estimator.MaxSteps(20)}
		if rank == 1 {
			m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
				if r.GlobalStep() == 13 {
					return broken
				}
				return nil
			}}))
		}
	}) {
		want := []error{estimator.ErrPeerLost, broken}[i]
		if !errors.Is(r.err, want) {
			t.Errorf("%s: %v, expected %v", r.task, r.err, want)
		}
	}
	rest := lossesOf(t, dir, 2, 0, s, nil, 20)
	if len(rest) != 2*10 {
		t.Errorf("%d losses after the failure, expected those of two workers in steps 11 to 20", len(rest))
	}
	for at, got := range rest {
		if got != whole[at] {
			t.Errorf("%+v: loss %v, without failure %v", at, got, whole[at])
		}
	}
}

// TestClusterWorkerWithoutData: in lock step the others continue; in synchronous
// training with parameter servers, the first end of data ends training.
func TestClusterWorkerWithoutData(t *testing.T) {
	for i, c := range synchronous {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range trainCluster(t, t.TempDir(), 2, c.servers, c.s, func(rank int, m *member) {
				m.opts = []estimator.TrainOption{estimator.MaxSteps(5), estimator.WithHooks(hooks.NewLogging(slog.New(slog.DiscardHandler), 1, "loss"))}
				if rank == 1 {
					m.input = estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
						ds, err := equalData(ctx, ic)
						if err != nil {
							return nil, err
						}
						return inputs.Pipe(ds, inputs.Take(0)), nil
					})
				}
			}) {
				if want := []int64{5, 0}[i]; r.err != nil || r.GlobalStep != want {
					t.Errorf("%s: %+v, expected step %d", r.task, r, want)
				}
			}
		})
	}
}

// TestJointEvaluationOfFewRows: workers without data to evaluate, or to train, take part.
func TestJointEvaluationOfFewRows(t *testing.T) {
	for _, name := range []string{"chief", "master", "no data to train on"} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var got []float64
			var told []string // to AfterEval
			s := runconfig.Strategy{Name: "multi_worker_mirrored"}
			for _, r := range trainCluster(t, t.TempDir(), 3, 0, s, func(rank int, m *member) {
				if name == "master" {
					m.text = strings.ReplaceAll(m.text, `"chief"`, `"master"`)
				}
				m.fn = estimator.ModelFunc(toyModel)
				m.run = append(m.run, runconfig.EvalDistribute(s))
				m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
					input := func(few bool) estimator.InputFn {
						return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
							ds, err := (&toyData{rows: 2}).Input(ctx, inputs.Context{Mode: ic.Mode})
							switch {
							case err == nil && few:
								ds = inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines))
							case err == nil:
								ds = inputs.Pipe(ds, inputs.Repeat(0))
							}
							return ds, err
						})
					}
					res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: input(name == "no data to train on" && rank == 2), MaxSteps: 4},
						estimator.EvalSpec{Input: input(true), EverySteps: 2, AfterEval: func(_ context.Context, r estimator.EvalResult, final bool) error {
							mu.Lock()
							defer mu.Unlock()
							told = append(told, fmt.Sprint(r.GlobalStep, final))
							return nil
						}})
					if err == nil && res.Eval != nil {
						x, _ := res.Eval.Scalar("rmse")
						mu.Lock()
						got = append(got, x)
						mu.Unlock()
					}
					return res.TrainResult, err
				}
			}) {
				if r.err != nil {
					t.Error(r.err)
				}
			}
			if len(got) != 3 || got[0] != got[1] || got[1] != got[2] || math.IsNaN(got[0]) {
				t.Errorf("rmse of the workers: %v", got)
			}
			if want := []string{"2 false", "4 false", "4 true"}; !slices.Equal(told, want) {
				t.Errorf("AfterEval had %v, expected %v", told, want)
			}
		})
	}
}
