package estimator_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// TestClusterWorkerComesLate: a worker that starts when the others are about to end, or
// have ended, takes part or ends as they do, whether or not it shares their model_dir.
func TestClusterWorkerComesLate(t *testing.T) {
	const last = 20
	moments := map[string]int64{"in between": 15, "at the last step": last, "at the end": -1, "when the chief is gone": -2}
	draws := 8
	if testing.Short() {
		draws = 2
	}
	for name, moment := range moments {
		for _, dir := range []string{"shared", "own"} {
			t.Run(name+"/"+dir, func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(moment), uint64(len(dir))))
				for range draws {
					lateWorker(t, lateness{last: last, moment: moment, after: time.Duration(r.IntN(100)) * time.Millisecond, own: dir == "own", servers: 1 + r.IntN(2)})
				}
			})
		}
	}
}

// lateness says when the worker of lateWorker starts: some time after the chief
// made a step, is in its last hook (-1), or has ended (-2).
type lateness struct {
	last, moment int64
	after        time.Duration
	own          bool // it has a model_dir of its own
	servers      int
}

func lateWorker(t *testing.T, l lateness) {
	t.Helper()
	come := make(chan struct{})
	for _, r := range trainCluster(t, t.TempDir(), 2, l.servers, runconfig.Strategy{Name: "parameter_server"}, func(rank int, m *member) {
		m.opts = []estimator.TrainOption{estimator.MaxSteps(l.last)}
		if rank == 0 {
			m.opts = append(m.opts, estimator.WithHooks(l.tell(come)))
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				res, err := e.Train(ctx, m.input, m.opts...)
				if l.moment == -2 {
					close(come)
				}
				return res, err
			}
			return
		}
		if l.own {
			m.run = append(m.run, runconfig.ModelDir(t.TempDir()))
		}
		m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
			<-come
			time.Sleep(l.after)
			return e.Train(ctx, m.input, m.opts...)
		}
	}) {
		if r.err != nil {
			t.Fatalf("%s: %v, where the worker came %v after moment %d of %d servers", r.task, r.err, l.after, l.moment, l.servers)
		}
	}
}

// tell is a hook of the chief that lets the worker start.
func (l lateness) tell(come chan struct{}) hooks.Hook {
	return hookFuncs{
		after: func(r hooks.Run) error {
			if r.GlobalStep() == l.moment {
				close(come)
			}
			return nil
		},
		end: func() {
			if l.moment == -1 {
				close(come)
			}
		},
	}
}
