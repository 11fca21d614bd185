package hooks

import (
	"math"
	"time"

	"github.com/goestimator/goestimator/inputs"
)

// InputWaiter is a Run that measures how long it waits for input: a training loop.
type InputWaiter interface {
	// InputWait returns how long the loop has waited for batches so far.
	InputWait() time.Duration
	// InputSteps returns how long each step of the input has worked so far.
	InputSteps() []inputs.StepTime
}

const (
	// waitsAbove is the share of the time above which the bottleneck is named: the input's slowest step.
	waitsAbove = 0.2
	// waitsOver is the least time over which the bottleneck is determined.
	waitsOver = time.Second
)

// dataWait measures the share of the time that a loop waits for its input.
type dataWait struct {
	now    func() time.Time
	last   waited // at the last share
	window waited // at the last look for the bottleneck
	steps  []inputs.StepTime
}

// waited is a time, and how long the loop had waited until then.
type waited struct {
	at   time.Time
	wait time.Duration
}

// share returns the share of the time from w to next that the loop waited.
func (w waited) share(next waited) float64 {
	return min(float64(next.wait-w.wait)/float64(max(next.at.Sub(w.at), 1)), 1)
}

// begin starts to measure a loop.
func (d *dataWait) begin(r Run) {
	if w, ok := r.(InputWaiter); ok {
		d.last = waited{d.now(), w.InputWait()}
		d.window, d.steps = d.last, w.InputSteps()
	}
}

// since returns the share of the time since the previous call, from 0 to 1; false if it is not known. If the loop waited for much
// of the last second or more, bottleneck names the step of the input that limits its speed.
func (d *dataWait) since(r Run) (share float64, bottleneck string, ok bool) {
	w, ok := r.(InputWaiter)
	if !ok || d.last.at.IsZero() {
		return 0, "", false
	}
	now := waited{d.now(), w.InputWait()}
	share = math.Round(1000*d.last.share(now)) / 1000
	d.last = now
	if now.at.Sub(d.window.at) < waitsOver {
		return share, "", true
	}
	steps := w.InputSteps()
	if d.window.share(now) > waitsAbove {
		bottleneck = inputs.Bottleneck(d.steps, steps)
	}
	d.window, d.steps = now, steps
	return share, bottleneck, true
}
