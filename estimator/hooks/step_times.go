package hooks

import (
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/format/summary"
)

// StepTimes is what a training loop has spent its time on so far, apart from waiting for its input (InputWaiter). The
// rest of the time goes to other hooks and to staging batches.
type StepTimes struct {
	Compute     time.Duration // running the program: gradients, communication with other tasks, update
	Checkpoints time.Duration // writing them
	Summaries   time.Duration // reading values for summaries and log lines, and writing them
	Evaluations time.Duration // between steps, in this process
}

// StepTimer is a Run that measures what it spends its time on: a training loop.
type StepTimer interface {
	StepTimes() StepTimes
}

// spent measures the shares of the time that a loop spends on each kind of work.
type spent struct {
	at   time.Time
	last StepTimes
}

// begin starts to measure a loop.
func (s *spent) begin(r Run, now time.Time) {
	if t, ok := r.(StepTimer); ok {
		s.at, s.last = now, t.StepTimes()
	}
}

// since returns the shares of the time since the previous call, from 0 to 1; none if they are not known.
func (s *spent) since(r Run, now time.Time) []*summary.Value {
	t, ok := r.(StepTimer)
	if !ok || s.at.IsZero() {
		return nil
	}
	times, all := t.StepTimes(), float64(max(now.Sub(s.at), 1))
	var out []*summary.Value
	for _, part := range []struct {
		tag       string
		now, then time.Duration
	}{
		{"step_time/compute", times.Compute, s.last.Compute},
		{"step_time/checkpoints", times.Checkpoints, s.last.Checkpoints},
		{"step_time/summaries", times.Summaries, s.last.Summaries},
		{"step_time/evaluations", times.Evaluations, s.last.Evaluations},
	} {
		share := min(max(float64(part.now-part.then)/all, 0), 1)
		out = append(out, summary.Scalar(part.tag, math.Round(1e4*share)/1e4))
	}
	s.at, s.last = now, times
	return out
}
