package worker

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestCleanupEndsPartialRuns: a partial run ends with its step, whatever its nodes wait for.
func TestCleanupEndsPartialRuns(t *testing.T) {
	w := &Worker{steps: map[int64]*step{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	w.steps[1] = &step{table: rendezvous.New(), partial: &partial{cancel: cancel}}
	if _, err := w.cleanupGraph(t.Context(), &rpcs.CleanupGraphRequest{StepId: 1}); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil || len(w.steps) != 0 {
		t.Errorf("after CleanupGraph: %v, %d steps", ctx.Err(), len(w.steps))
	}
}

// TestStepsThatAreOver: a master announces steps that are over along with another step.
func TestStepsThatAreOver(t *testing.T) {
	p := newPair()
	in, out := link("0", "0", "x:0"), link("0", "0", "y:0")
	handle := register(t, p[0], negate(t, in, out))
	for id := range int64(3) {
		answer, err := p[0].runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: handle, StepId: id + 1, Send: value(t, in, 3), RecvKey: []string{out.String()}, CleanupStepId: []uint64{uint64(id)}})
		if err != nil || !answer.GetCleansUp() {
			t.Fatalf("got %v, %v", answer, err)
		}
	}
	if len(p[0].steps) != 1 || p[0].steps[3] == nil {
		t.Errorf("expected step 3 alone, got %v", p[0].steps)
	}
}

// TestStepsEndWithTheirSession: items sent to a task that never asks for them are removed with the session, when its master has vanished.
func TestStepsEndWithTheirSession(t *testing.T) {
	p := newPair()
	in, out := link("0", "0", "x:0"), link("0", "1", "y:0")
	for id, session := range []string{"a", "b"} {
		if _, err := p[0].createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: session}); err != nil {
			t.Fatal(err)
		}
		g, err := p[0].registerGraph(t.Context(), &rpcs.RegisterGraphRequest{GraphDef: negate(t, in, out), SessionHandle: session, CreateWorkerSessionCalled: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p[0].runGraph(t.Context(), &rpcs.RunGraphRequest{GraphHandle: g.GetGraphHandle(), StepId: int64(id), Send: value(t, in, 3)}); err != nil {
			t.Fatal(err)
		}
	}
	table := p[0].steps[0].table
	if _, err := p[0].deleteSession(t.Context(), &rpcs.DeleteWorkerSessionRequest{SessionHandle: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Recv(t.Context(), out.String()); status.Code(err) != codes.Aborted || len(p[0].steps) != 1 || p[0].steps[1] == nil {
		t.Errorf("expected step 1 alone, got %v, %v", p[0].steps, err)
	}
}
