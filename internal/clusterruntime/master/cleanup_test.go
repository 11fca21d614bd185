package master

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// noting is a cluster that records which steps its workers run, and which they know to be over.
type noting struct {
	tasks
	foreign bool // the workers do not announce that they clean up, like TensorFlow's
	slow    bool // CleanupGraph takes a second
	lost    bool // the next RunGraph does not reach its worker

	mu      sync.Mutex
	ran     map[uint64]int
	over    map[uint64]int
	cleanup int // calls of CleanupGraph
}

func (n *noting) Worker(_ string, task int) (service.Caller, error) {
	return notingCaller{n, n.tasks[task]}, nil
}

type notingCaller struct {
	*noting
	service.Caller
}

func (c notingCaller) Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error) {
	if _, ok := in.(*rpcs.CleanupGraphRequest); ok && c.slow {
		time.Sleep(time.Second)
	}
	c.mu.Lock()
	switch in := in.(type) {
	case *rpcs.RunGraphRequest:
		if c.lost {
			c.lost = false
			c.mu.Unlock()
			return nil, status.Error(codes.Canceled, "lost")
		}
		c.ran[uint64(in.GetStepId())]++
		for _, id := range in.GetCleanupStepId() {
			c.over[id]++
		}
	case *rpcs.CleanupGraphRequest:
		c.cleanup++
		c.over[uint64(in.GetStepId())]++
	}
	c.mu.Unlock()
	out, err := c.Caller.Call(ctx, method, in, out)
	if r, ok := out.(*rpcs.RunGraphResponse); ok && c.foreign {
		r.CleansUp = false
	}
	return out, err
}

// TestCleanup: a worker learns once that a step is over: our workers with the next step, or a while after the last one.
func TestCleanup(t *testing.T) {
	const steps = 20
	for foreign, calls := range map[bool]int{false: 1, true: steps} {
		synctest.Test(t, func(t *testing.T) {
			n := &noting{tasks: newTasks(2), foreign: foreign, ran: map[uint64]int{}, over: map[uint64]int{}}
			m := New(Task{"w", 0}, n, slog.New(slog.DiscardHandler))
			out, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: plusOne(t, 2)})
			if err != nil {
				t.Fatal(err)
			}
			for range steps {
				if _, err := m.runStep(t.Context(), stepAt(t, out.GetSessionHandle(), 1)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * cleanupPause)
			synctest.Wait()
			if len(n.ran) != steps || len(n.over) != steps || n.cleanup != calls {
				t.Errorf("foreign %v: %d steps, %d of them over, %d calls: expected %d calls", foreign, len(n.ran), len(n.over), n.cleanup, calls)
			}
			for id, times := range n.over {
				if times != 1 || n.ran[id] != 1 {
					t.Errorf("step %d ran %d times and was over %d times", id, n.ran[id], times)
				}
			}
			closeSession(t, m, out.GetSessionHandle())
		})
	}
}

// TestCleanupOfLostSteps: a worker learns that steps are over even if the call that was to say so is lost, and if each cleanup takes
// long.
func TestCleanupOfLostSteps(t *testing.T) {
	const steps = 20
	for _, foreign := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := &noting{tasks: newTasks(2), foreign: foreign, slow: true, ran: map[uint64]int{}, over: map[uint64]int{}}
			m := New(Task{"w", 0}, n, slog.New(slog.DiscardHandler))
			out, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: plusOne(t, 2)})
			if err != nil {
				t.Fatal(err)
			}
			for i := range steps {
				n.lost = i == steps-1
				_, err := m.runStep(t.Context(), stepAt(t, out.GetSessionHandle(), 1))
				if lost := status.Code(err) == codes.Canceled; lost != (i == steps-1) || !lost && err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			time.Sleep(2 * steps * time.Second)
			synctest.Wait()
			for id := range n.ran {
				if n.over[id] != 1 {
					t.Errorf("foreign %v: step %d was over %d times", foreign, id, n.over[id])
				}
			}
			if len(n.ran) != steps-1 {
				t.Errorf("%d steps ran", len(n.ran))
			}
			closeSession(t, m, out.GetSessionHandle())
		})
	}
}
