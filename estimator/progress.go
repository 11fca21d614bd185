package estimator

import "github.com/goestimator/goestimator/estimator/hooks"

// progress is the progress of a loop.
type progress struct {
	step   int64
	rows   int    // of the last step
	unread bool   // the last step's values were not read
	ran    bool   // a step with data ran: tensors have values
	reason string // why the loop ends; "" while it runs
	times  hooks.StepTimes
}

// GlobalStep returns the number of training steps done.
func (p *progress) GlobalStep() int64 { return p.step }

// BatchSize returns the rows of the last step.
func (p *progress) BatchSize() int { return p.rows }

// RequestStop ends the loop after this step.
func (p *progress) RequestStop(reason string) {
	if p.reason == "" {
		p.reason = reason
	}
}

// StopRequested reports whether the loop is about to end.
func (p *progress) StopRequested() bool { return p.reason != "" }

// Unread reports whether tensors have no values after the last step.
func (p *progress) Unread() bool { return p.unread }
