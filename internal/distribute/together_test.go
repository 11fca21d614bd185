package distribute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// meetings is a step function whose Collect waits until that many replicas are in it at the same time.
type meetings struct {
	mu      sync.Mutex
	size    int
	here    int // replicas in the current meeting
	running int
	most    int
	all     chan struct{}
}

// met is the step function of TestInterOp.
var met *meetings

func init() {
	optimizers.RegisterStepFunction("test_meetings", func([]byte) (optimizers.StepFunction, error) { return met, nil })
}

func (m *meetings) Begin(optimizers.StepVariables) (int, int64, error) { return 0, 0, nil }

func (m *meetings) Apply(optimizers.StepVariables, *optimizers.Tally) error { return nil }

func (m *meetings) Collect(optimizers.StepVariables, []*tensor.Tensor, *optimizers.Tally) error {
	m.mu.Lock()
	m.running++
	m.most = max(m.most, m.running)
	if m.here == 0 {
		m.all = make(chan struct{})
	}
	all := m.all
	if m.here++; m.here == m.size {
		m.here = 0
		close(all)
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.running--
		m.mu.Unlock()
	}()
	select {
	case <-all:
		return nil
	case <-time.After(30 * time.Second):
		return fmt.Errorf("fewer than %d replicas compute at once", m.size)
	}
}

// TestInterOp: the session config sets how many replicas compute at the same time; by default all.
func TestInterOp(t *testing.T) {
	for _, c := range []struct{ threads, size int }{{0, 4}, {1, 1}, {2, 2}, {9, 4}} {
		met = &meetings{size: c.size}
		rc, err := runconfig.New(runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Replicas: 4, Device: "/cpu:0"}),
			runconfig.Session(runconfig.SessionConfig{InterOpThreads: c.threads}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(ConfigOf(rc, nil))
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), GlobalStep: tensor.Scalar(int64(0))} {
			if err := s.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
				t.Fatal(err)
			}
		}
		p := square(graph.NewBuilder(graph.New()))
		p.Updates, p.Gradients = nil, nil
		p.Train = &optimizers.TrainOp{Step: &optimizers.StepOp{Function: "test_meetings", Variables: []*models.Variable{{Name: "w", DType: tensor.Float64}}}}
		x, err := s.Train(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Step(context.Background(), Step{Batches: []Batch{column(t, 1), column(t, 2), column(t, 3), column(t, 4)}}); err != nil {
			t.Fatal(err)
		}
		if met.most != c.size {
			t.Errorf("inter_op_threads %d: %d replicas at once, expected %d", c.threads, met.most, c.size)
		}
		if err := errors.Join(x.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestTogether(t *testing.T) {
	for n := range 5 {
		for limit := range 7 {
			var mu sync.Mutex
			done := make([]int, n)
			err := together(n, limit, func(i int) error {
				mu.Lock()
				defer mu.Unlock()
				done[i]++
				if i%2 == 1 {
					return fmt.Errorf("piece %d", i)
				}
				return nil
			})
			for i, times := range done {
				if times != 1 {
					t.Errorf("%d pieces, limit %d: piece %d was done %d times", n, limit, i, times)
				}
				if i%2 == 1 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("piece %d", i))) {
					t.Errorf("%d pieces, limit %d: the error of piece %d is missing: %v", n, limit, i, err)
				}
			}
		}
	}
}
