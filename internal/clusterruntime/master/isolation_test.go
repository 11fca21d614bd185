package master

import (
	"context"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// shared is a cluster whose worker cannot isolate the state of a session.
type shared struct {
	alone
	ended int // deleted sessions
}

func (w *shared) Worker(job string, index int) (service.Caller, error) {
	all, err := w.alone.Worker(job, index)
	return append(service.Local{
		service.Bind("CreateWorkerSession", func(context.Context, *rpcs.CreateWorkerSessionRequest) (*rpcs.CreateWorkerSessionResponse, error) {
			return nil, status.Error(codes.ResourceExhausted, "too many")
		}),
		service.Bind("DeleteWorkerSession", func(context.Context, *rpcs.DeleteWorkerSessionRequest) (*rpcs.DeleteWorkerSessionResponse, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ended++
			return &rpcs.DeleteWorkerSessionResponse{}, nil
		})}, all.(service.Local)...), err
}

// TestNoIsolation: a session that gets no state of its own is not opened, and the bytes of its graph are released.
func TestNoIsolation(t *testing.T) {
	w := &shared{}
	m := New(Task{Job: "w"}, w, slog.New(slog.DiscardHandler))
	_, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: graphOf(0, 5), Config: &for_core_protos_go_proto.ConfigProto{IsolateSessionState: true}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	if m.graphs.Load() != 0 || m.Sessions() != 0 || w.ended != 1 {
		t.Errorf("%d bytes of graphs and %d sessions are left, %d sessions were ended", m.graphs.Load(), m.Sessions(), w.ended)
	}
}
