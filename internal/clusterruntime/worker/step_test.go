package worker

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
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
