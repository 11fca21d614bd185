package master

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/protobuf/proto"
)

// TestCloseEndsPartialRuns: a partial run that waits for a queue, not for another task, ends with its session.
func TestCloseEndsPartialRuns(t *testing.T) {
	m, session := openReal(t)
	setup, err := m.partialRunSetup(t.Context(), &rpcs.PartialRunSetupRequest{SessionHandle: session, Feed: []string{"a:0", "b:0"}, Fetch: []string{"sum:0", "wait:0"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.runStep(t.Context(), &rpcs.RunStepRequest{SessionHandle: session, PartialRunHandle: setup.GetPartialRunHandle(), Feed: feed(t, map[string]float32{"a": 1, "b": 2}), Fetch: []string{"sum:0"}}); err != nil {
		t.Fatal(err)
	}
	closeSession(t, m, session) // TestMain checks that nothing is left
}

// mute is a cluster whose worker does not answer calls that end graphs.
type mute struct{ *alone }

func (c mute) Worker(job string, task int) (service.Caller, error) {
	w, err := c.alone.Worker(job, task)
	return muted{w}, err
}

type muted struct{ service.Caller }

func (c muted) Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error) {
	if method == "DeregisterGraph" || method == "DeleteWorkerSession" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.Caller.Call(ctx, method, in, out)
}

// TestCloseWaitsOnce: however many plans a session has, a hanging worker delays its end only once.
func TestCloseWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Task{Job: "w"}, mute{&alone{graphs: map[string]string{}}}, slog.New(slog.DiscardHandler))
		out, err := m.createSession(t.Context(), &rpcs.CreateSessionRequest{GraphDef: graphOf(0, 20)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := m.runStep(t.Context(), target(out.GetSessionHandle(), i)); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		closeSession(t, m, out.GetSessionHandle())
		if d := time.Since(begun); d > parting {
			t.Errorf("it took %v, expected %v", d, parting)
		}
	})
}
