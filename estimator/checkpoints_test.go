package estimator

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/tensor"
)

// advancing is a strategy in which other workers have made steps before it
// synchronizes.
type advancing struct {
	distribute.Strategy
	step int64
}

func (a advancing) Synchronize(_ context.Context, restore func() (distribute.Notes, error)) (distribute.Notes, error) {
	notes, err := restore()
	if err != nil {
		return notes, err
	}
	return notes, a.Variables().Set(distribute.GlobalStep, distribute.Whole(tensor.Scalar(a.step)))
}

func (advancing) Drain(context.Context, bool) error  { return nil }
func (advancing) Finish(context.Context, bool) error { return nil }

// TestRestoredCheckpointHasItsOwnStep: steps that asynchronous workers make while a task restores do not
// count as saved.
func TestRestoredCheckpointHasItsOwnStep(t *testing.T) {
	ctx := t.Context()
	tr := openLine(t, line)
	for range 2 {
		step(t, tr)
	}
	if prefix, err := tr.checkpoints.save(ctx); err != nil || !strings.HasSuffix(prefix, "-2") {
		t.Fatal(prefix, err)
	}
	tr.shared = advancing{tr.session.strategy, 5}
	if err := tr.synchronize(ctx); err != nil {
		t.Fatal(err)
	}
	if prefix, err := tr.checkpoints.save(ctx); err != nil || !strings.HasSuffix(prefix, "-5") {
		t.Errorf("after step 5 the newest checkpoint is %s, %v: expected one of that step", prefix, err)
	}
}
