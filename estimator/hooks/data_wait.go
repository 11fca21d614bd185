package hooks

import (
	"math"
	"time"

	"github.com/goestimator/goestimator/inputs"
)

// InputWaiter is a Run that knows what it waits for: a training loop.
type InputWaiter interface {
	// InputWait is how long the loop has waited for batches so far.
	InputWait() time.Duration
	// InputSteps is how long the steps of the input have worked so far.
	InputSteps() []inputs.StepTime
}

const (
	// waitsAbove is the share of the time from which on the step of the input is named that bounds its speed.
	waitsAbove = 0.2
	// waitsOver is the least time over which it is looked for.
	waitsOver = time.Second
)

// dataWait finds out what share of the time a loop waits for its input.
type dataWait struct {
	now    func() time.Time
	last   waited // of the last share
	window waited // since when the bottleneck is looked for
	steps  []inputs.StepTime
}

// waited is a time, and how long a loop had waited by then.
type waited struct {
	at   time.Time
	wait time.Duration
}

// share is the part of the time from one waited to the next.
func (w waited) share(next waited) float64 {
	return min(float64(next.wait-w.wait)/float64(max(next.at.Sub(w.at), 1)), 1)
}

// begin starts with a loop as it is now.
func (d *dataWait) begin(r Run) {
	if w, ok := r.(InputWaiter); ok {
		d.last = waited{d.now(), w.InputWait()}
		d.window, d.steps = d.last, w.InputSteps()
	}
}

// since is the share of the time since the call before, from 0 to 1; false where that is not known. bottleneck is the step of the
// input that bounds its speed, where the loop waited for much of the last second or more, else "".
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
