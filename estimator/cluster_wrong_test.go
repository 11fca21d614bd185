package estimator_test

import (
	"errors"
	"github.com/goestimator/goestimator/internal/training/rule"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// TestClusterOfDifferentTasks: tasks with different settings report it, and none hangs.
func TestClusterOfDifferentTasks(t *testing.T) {
	ring, ps := runconfig.Strategy{Name: "multi_worker_mirrored"}, runconfig.Strategy{Name: "parameter_server"}
	strategy := func(m *member, s runconfig.Strategy) { m.run = append(m.run, runconfig.TrainDistribute(s)) }
	for _, c := range []struct {
		name    string
		servers int
		s       runconfig.Strategy
		other   func(m *member) // makes the last worker differ
		want    string          // in the error of some task
	}{
		{"ring, other model", 0, ring, func(m *member) { m.fn = equalModel(rule.Momentum{Momentum: 0.9}, 0.05, false) }, "differ"},
		{"ring, other optimizer", 0, ring, func(m *member) { m.fn = equalModel(rule.SGD{}, 0.05, true) }, "differ"},
		{"ring, other packs", 0, ring, func(m *member) { strategy(m, runconfig.Strategy{Name: "multi_worker_mirrored", BytesPerPack: 1000}) }, "differ"},
		{"ring, other cluster", 0, ring, func(m *member) {
			m.text = strings.Replace(m.text, `"worker":[`, `"worker":["localhost:1",`, 1)
			m.text = strings.Replace(m.text, `"index":1`, `"index":2`, 1)
		}, "ranks"},
		{"servers, other model", 2, ps, func(m *member) { m.fn = equalModel(rule.Momentum{Momentum: 0.9}, 0.05, false) }, "differ"},
		{"servers, ring", 1, ring, nil, "ps tasks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// On a slow machine the tasks may not connect within a short limit, and then report no difference.
			var res []ended
			for _, limit := range []int{2, 30} {
				res = trainCluster(t, t.TempDir(), 3, c.servers, c.s, func(rank int, m *member) {
					m.opts = []estimator.TrainOption{estimator.MaxSteps(5)}
					m.run = append(m.run, runconfig.SessionCreationTimeoutSecs(limit))
					if rank == 2 && c.other != nil {
						c.other(m)
					}
				})
				for _, r := range res {
					if r.err != nil && strings.Contains(r.err.Error(), c.want) {
						return
					}
				}
			}
			t.Errorf("no task says %q: %+v", c.want, res)
		})
	}
}

// TestClusterChiefFailsForGood: the others end with the chief's exit code and report its
// reason.
func TestClusterChiefFailsForGood(t *testing.T) {
	for _, c := range synchronous {
		t.Run(c.name, func(t *testing.T) {
			broken := errors.New("broken")
			for _, r := range trainCluster(t, t.TempDir(), 2, c.servers, c.s, func(rank int, m *member) {
				m.opts = []estimator.TrainOption{estimator.MaxSteps(1000)}
				if rank == 0 {
					m.opts = append(m.opts, estimator.WithHooks(hookFuncs{after: func(r hooks.Run) error {
						if r.GlobalStep() == 5 {
							return broken
						}
						return nil
					}}))
				} else {
					m.run = append(m.run, runconfig.ModelDir(t.TempDir()), runconfig.Connections(patientConnections))
				}
			}) {
				if code := estimator.ExitCode(r.err); code != estimator.ExitError || !strings.Contains(r.err.Error(), "broken") {
					t.Errorf("%s: %v, exit code %d, expected 1", r.task, r.err, code)
				}
			}
		})
	}
}

// patientConnections wait longer for a lost task than a busy machine may pause.
var patientConnections = runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: 60, CallTimeoutSecs: 20, MaxMessageMB: 64}
