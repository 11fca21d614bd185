package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// alone is a cluster of one worker that counts its graphs.
type alone struct {
	mu     sync.Mutex
	graphs map[string]string // sessions by graph
	next   int
	hangs  bool // registering blocks until the caller gives up
}

func (a *alone) Tasks() []Task { return []Task{{Job: "w"}} }

func (a *alone) Worker(string, int) (service.Caller, error) {
	return service.Local{
		service.Bind("GetStatus", func(context.Context, *rpcs.GetStatusRequest) (*rpcs.GetStatusResponse, error) {
			return &rpcs.GetStatusResponse{DeviceAttributes: []*device_attributes_go_proto.DeviceAttributes{{Name: "/job:w/replica:0/task:0/device:CPU:0"}}}, nil
		}),
		service.Bind("CreateWorkerSession", func(context.Context, *rpcs.CreateWorkerSessionRequest) (*rpcs.CreateWorkerSessionResponse, error) {
			return &rpcs.CreateWorkerSessionResponse{}, nil
		}),
		service.Bind("DeleteWorkerSession", func(_ context.Context, in *rpcs.DeleteWorkerSessionRequest) (*rpcs.DeleteWorkerSessionResponse, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			maps.DeleteFunc(a.graphs, func(_, session string) bool { return session == in.GetSessionHandle() })
			return &rpcs.DeleteWorkerSessionResponse{}, nil
		}),
		service.Bind("RegisterGraph", a.register),
		service.Bind("DeregisterGraph", func(_ context.Context, in *rpcs.DeregisterGraphRequest) (*rpcs.DeregisterGraphResponse, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.graphs[in.GetGraphHandle()] == "" {
				return nil, errors.New("no such graph")
			}
			delete(a.graphs, in.GetGraphHandle())
			return &rpcs.DeregisterGraphResponse{}, nil
		}),
		service.Bind("RunGraph", func(_ context.Context, in *rpcs.RunGraphRequest) (*rpcs.RunGraphResponse, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.graphs[in.GetGraphHandle()] == "" {
				return nil, status.Error(codes.Aborted, "no such graph")
			}
			return &rpcs.RunGraphResponse{}, nil
		}),
		service.Bind("CleanupGraph", func(context.Context, *rpcs.CleanupGraphRequest) (*rpcs.CleanupGraphResponse, error) {
			return &rpcs.CleanupGraphResponse{}, nil
		}),
	}, nil
}

func (a *alone) register(ctx context.Context, in *rpcs.RegisterGraphRequest) (*rpcs.RegisterGraphResponse, error) {
	a.mu.Lock()
	hangs := a.hangs
	a.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	handle := fmt.Sprint(a.next)
	a.graphs[handle] = in.GetSessionHandle()
	return &rpcs.RegisterGraphResponse{GraphHandle: handle}, nil
}

// graphOf is a graph with the nodes from and up to to.
func graphOf(from, to int) *graph_go_proto.GraphDef {
	def := &graph_go_proto.GraphDef{}
	for i := from; i < to; i++ {
		def.Node = append(def.Node, &node_def_go_proto.NodeDef{Name: fmt.Sprint("t", i), Op: "NoOp"})
	}
	return def
}

// open returns a master with a session of n nodes: t0, t1, ...
func open(t *testing.T, n int) (*Master, *alone, string) {
	t.Helper()
	a := &alone{graphs: map[string]string{}}
	m := New(Task{Job: "w"}, a, slog.New(slog.DiscardHandler))
	out, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: graphOf(0, n)})
	if err != nil {
		t.Fatal(err)
	}
	return m, a, out.GetSessionHandle()
}

func target(session string, i int) *rpcs.RunStepRequest {
	return &rpcs.RunStepRequest{SessionHandle: session, Target: []string{fmt.Sprint("t", i)}}
}

// TestPlansAreBounded: a client that keeps requesting new targets has few graphs registered, and the plans of callables stay.
func TestPlansAreBounded(t *testing.T) {
	const targets = maxPlans + 20
	m, a, session := open(t, targets)
	c, err := m.makeCallable(t.Context(), &rpcs.MakeCallableRequest{SessionHandle: session, Options: &for_core_protos_go_proto.CallableOptions{Target: []string{"t0"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range targets {
		if _, err := m.runStep(t.Context(), target(session, i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.graphs) != maxPlans+1 {
		t.Errorf("%d graphs are registered, expected %d and that of the callable", len(a.graphs), maxPlans)
	}
	if _, err := m.runCallable(t.Context(), &rpcs.RunCallableRequest{SessionHandle: session, Handle: c.GetHandle()}); err != nil {
		t.Errorf("the callable: %v", err)
	}
	if _, err := m.runStep(t.Context(), target(session, 1)); err != nil {
		t.Errorf("a plan that was dropped: %v", err)
	}
	if _, err := m.closeSession(t.Context(), &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil || len(a.graphs) != 0 || m.graphs.Load() != 0 {
		t.Errorf("%d graphs and %d bytes are left, %v", len(a.graphs), m.graphs.Load(), err)
	}
}

// TestAWorkerThatHangs: steps that wait for a worker end with their callers, and so does the session.
func TestAWorkerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a, session := open(t, 1)
		a.hangs = true
		first, cancelFirst := context.WithCancel(t.Context())
		second, cancelSecond := context.WithCancel(t.Context())
		done := make(chan error, 2)
		for _, ctx := range []context.Context{first, second} {
			go func() {
				_, err := m.runStep(ctx, target(session, 0))
				done <- err
			}()
			synctest.Wait()
		}
		cancelSecond()
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Errorf("who waits for the plan of another step: got %v", err)
		}
		if _, err := m.closeSession(t.Context(), &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil {
			t.Error(err)
		}
		cancelFirst()
		if err := <-done; err == nil || len(a.graphs) != 0 {
			t.Errorf("got %v, %d graphs are left", err, len(a.graphs))
		}
	})
}

// TestSessionsAreBounded: beyond the limit the longest idle session is closed, unless none was idle for long.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, first := open(t, 1)
		for range maxSessions - 1 {
			if _, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{})
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "1024 sessions are open") {
			t.Errorf("got %v", err)
		}
		time.Sleep(idleSession)
		if _, err := m.runStep(t.Context(), target(first, 0)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if _, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{}); err != nil {
			t.Error(err)
		}
		if _, err := m.runStep(t.Context(), target(first, 0)); err != nil || len(m.sessions) != maxSessions {
			t.Errorf("a session that is used: got %v, %d sessions", err, len(m.sessions))
		}
	})
}

func TestKeys(t *testing.T) {
	if a, b := (partition.Request{Feeds: []string{"a,b"}}), (partition.Request{Feeds: []string{"a", "b"}}); string(appendKey(nil, a)) == string(appendKey(nil, b)) {
		t.Errorf("%v and %v have the key %q", a, b, appendKey(nil, a))
	}
}
