package hooks

import (
	"context"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// asked is a Run that records the reason to stop.
type asked struct {
	Run
	reason string
}

func (a *asked) RequestStop(reason string) { a.reason = reason }

// TestTimeLimit moves the clock: the time is written every 30 seconds, and training stops at the limit.
func TestTimeLimit(t *testing.T) {
	dir := t.TempDir()
	h, err := NewTimeLimit(dir, 90*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var at time.Duration
	begun := time.Now()
	h.now = func() time.Time { return begun.Add(at) }
	r := &asked{}
	if err := h.AfterCreateSession(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at    time.Duration
		noted float64
		stop  string
	}{
		{0, 0, ""},
		{noteEvery - 1, 0, ""},
		{noteEvery, 30, ""},
		{2*noteEvery - 1, 30, ""},
		{2 * noteEvery, 60, ""},
		{90*time.Second - 1, 60, ""},
		{90 * time.Second, 60, "time_limit"},
	} {
		at = c.at
		if err := h.AfterRun(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
		if err != nil || s.TrainSeconds != c.noted || r.reason != c.stop {
			t.Errorf("after %v: noted %v s (%v), stop reason %q, expected %v s, %q", c.at, s.TrainSeconds, err, r.reason, c.noted, c.stop)
		}
	}
	if err := h.End(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir); err != nil || s.TrainSeconds != 90 {
		t.Errorf("at the end: noted %v s (%v), expected 90", s.TrainSeconds, err)
	}
}

// TestTimeLimitOfOtherTasks: tasks that are not the chief leave state.json alone, since what the chief writes at the same time would be lost.
func TestTimeLimitOfOtherTasks(t *testing.T) {
	dir := t.TempDir()
	h, err := NewTimeLimit(dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	at := begun
	h.now = func() time.Time { return at }
	r := &task{}
	if err := h.AfterCreateSession(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	at = begun.Add(noteEvery)
	if err := h.AfterRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := h.End(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir); err != nil || s.TrainSeconds != 0 {
		t.Errorf("a worker wrote %v s (%v)", s.TrainSeconds, err)
	}
	r.chief = true // it has taken the chief's place
	if err := h.End(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir); err != nil || s.TrainSeconds != noteEvery.Seconds() {
		t.Errorf("the chief wrote %v s (%v)", s.TrainSeconds, err)
	}
}

// task is a Run of a task of a cluster.
type task struct {
	asked
	chief bool
}

func (r *task) IsChief() bool { return r.chief }
