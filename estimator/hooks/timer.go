package hooks

import (
	"fmt"
	"time"
)

// Every says how often something happens, in steps or in seconds. The zero Every means
// never.
type Every struct {
	Steps int64
	Secs  float64
}

// Validate reports negative values and both being set.
func (e Every) Validate() error {
	switch {
	case e.Steps < 0 || e.Secs < 0:
		return fmt.Errorf("every %d steps, %g secs: expected values >= 0", e.Steps, e.Secs)
	case e.Steps > 0 && e.Secs > 0:
		return fmt.Errorf("every %d steps and every %g secs: give one of the two", e.Steps, e.Secs)
	}
	return nil
}

// Timer is TensorFlow's SecondOrStepTimer: it triggers the first time, then whenever
// the interval has passed since it was last triggered, but never twice for one step.
type Timer struct {
	every Every
	now   func() time.Time
	step  int64
	at    time.Time
	armed bool // it was triggered before
}

// NewTimer returns a timer that has not been triggered.
func NewTimer(e Every) *Timer { return &Timer{every: e, now: time.Now} }

// ShouldTrigger reports whether the interval has passed at that step.
func (t *Timer) ShouldTrigger(step int64) bool {
	switch {
	case t.every == Every{}:
		return false
	case !t.armed:
		return true
	case step == t.step:
		return false
	case t.every.Steps > 0:
		return step >= t.step+t.every.Steps
	}
	return t.now().Sub(t.at).Seconds() >= t.every.Secs
}

// Trigger records a trigger at that step, and returns the steps and the time that
// passed since the last one: 0 for the first.
func (t *Timer) Trigger(step int64) (steps int64, elapsed time.Duration) {
	now := t.now()
	if t.armed {
		steps, elapsed = step-t.step, now.Sub(t.at)
	}
	t.step, t.at, t.armed = step, now, true
	return steps, elapsed
}

// LastTriggered returns the step of the last trigger, and whether there was one.
func (t *Timer) LastTriggered() (int64, bool) { return t.step, t.armed }
