package estimator_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// elastic is a strategy whose workers leave and join.
func elastic(e runconfig.Elastic) runconfig.Strategy {
	return runconfig.Strategy{Name: "multi_worker_mirrored", Elastic: e}
}

// watched are the losses that the chief saw, by step.
type watched struct {
	mu     sync.Mutex
	losses map[int64]float64
}

func (w *watched) hook() hooks.Hook {
	return hookFuncs{after: func(r hooks.Run) error {
		v, err := r.Value("loss")
		if err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.losses == nil {
			w.losses = map[int64]float64{}
		}
		w.losses[r.GlobalStep()] = v.Float(0)
		return nil
	}}
}

// near fails if the losses differ from the losses of one process.
func (w *watched) near(t *testing.T, last int64) {
	t.Helper()
	one := lossesOf(t, t.TempDir(), 1, 0, runconfig.Strategy{Name: "default"}, nil, last)
	for step := int64(1); step <= last; step++ {
		if got, want := w.losses[step], one[stepOf{step, 0}]; want == 0 || math.Abs(got-want) > 1e-4*math.Abs(want) {
			t.Errorf("step %d: loss %v, in one process %v", step, got, want)
		}
	}
}

var errGone = errors.New("gone for good")

// goes is a hook that makes a worker fail after a step.
func goes(step int64) hooks.Hook {
	return hookFuncs{after: func(r hooks.Run) error {
		if r.GlobalStep() == step {
			return errGone
		}
		return nil
	}}
}

// TestElasticWorkersGo: the remaining workers divide the batch among them, so that each
// step has the whole batch, as if no worker had left. No checkpoint is ever written.
func TestElasticWorkersGo(t *testing.T) {
	var chief watched
	res := trainCluster(t, t.TempDir(), 5, 0, elastic(runconfig.Elastic{Min: 1}), func(rank int, m *member) {
		m.run = append(m.run, runconfig.SaveCheckpointsSecs(0))
		m.opts = []estimator.TrainOption{estimator.MaxSteps(30)}
		switch rank {
		case 0:
			m.opts = append(m.opts, estimator.WithHooks(chief.hook()))
		case 2:
			m.opts = append(m.opts, estimator.WithHooks(goes(14)))
		case 3:
			m.opts = append(m.opts, estimator.WithHooks(goes(7)))
		}
	})
	for i, r := range res {
		var want error
		if i == 2 || i == 3 {
			want = errGone
		}
		if !errors.Is(r.err, want) || want == nil && r.GlobalStep != 30 {
			t.Errorf("%s %d: %+v, expected %v", r.task, i, r, want)
		}
	}
	chief.near(t, 30)
}
