package hooks

import (
	"testing"
	"time"
)

// timedRun is a loop that has spent its time as the test says.
type timedRun struct {
	Run
	times StepTimes
}

func (r *timedRun) StepTimes() StepTimes { return r.times }

// TestStepTimeShares: shares are of the time since the last look, and always from 0 to 1. A loop without times has none.
func TestStepTimeShares(t *testing.T) {
	r, at := &timedRun{times: StepTimes{Compute: time.Hour}}, time.Unix(100, 0)
	var s spent
	if got := s.since(r, at); got != nil {
		t.Errorf("before the loop began: %v", got)
	}
	s.begin(r, at)
	r.times.Compute += 3 * time.Second
	r.times.Checkpoints += 2 * time.Second
	r.times.Summaries -= time.Millisecond // as when an evaluation's time is subtracted from the saver's
	r.times.Evaluations += time.Minute
	at = at.Add(10 * time.Second)
	want := map[string]float32{"step_time/compute": 0.3, "step_time/checkpoints": 0.2, "step_time/summaries": 0, "step_time/evaluations": 1}
	got := s.since(r, at)
	for _, v := range got {
		if v.GetSimpleValue() != want[v.GetTag()] {
			t.Errorf("%s: %v, expected %v", v.GetTag(), v.GetSimpleValue(), want[v.GetTag()])
		}
	}
	if len(got) != 4 {
		t.Errorf("%d values", len(got))
	}
	for _, v := range s.since(r, at) {
		if v.GetSimpleValue() != 0 {
			t.Errorf("%s: %v of no time", v.GetTag(), v.GetSimpleValue())
		}
	}
	s = spent{}
	s.begin(struct{ Run }{}, at)
	if got := s.since(struct{ Run }{}, at); got != nil {
		t.Errorf("a loop that does not know: %v", got)
	}
}
