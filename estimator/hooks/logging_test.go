package hooks_test

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// TestLoggingOfEverySecondStep: two workers advance one global step in turn, and neither makes all steps. Then training goes on from a checkpoint.
func TestLoggingOfEverySecondStep(t *testing.T) {
	var out bytes.Buffer
	h, l := hooks.NewLogging(slog.New(slog.NewTextHandler(&out, nil)), 4, "loss"), newLoop()
	if err := h.Begin(l); err != nil {
		t.Fatal(err)
	}
	var steps []int64
	for _, l.step = range []int64{1, 3, 5, 7, 9, 11, 13, 7, 9} {
		reads, before := h.Reads(&loop{step: l.step - 1}), out.Len()
		if err := h.AfterRun(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if logged := out.Len() > before; logged != reads {
			t.Errorf("step %d: logged %v, would read %v", l.step, logged, reads)
		} else if logged {
			steps = append(steps, l.step)
		}
	}
	if want := []int64{1, 5, 9, 13, 7, 9}; !slices.Equal(steps, want) {
		t.Errorf("logged %v, expected %v", steps, want)
	}
}
