package estimator

import (
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// spent adds what a hook took to the times of the loop.
func (p *progress) spent(h hooks.Hook, d time.Duration) {
	switch h.(type) {
	case *hooks.CheckpointSaver:
		p.times.Checkpoints += d
	case *InMemoryEvaluator:
		p.times.Evaluations += d
	case *hooks.SummarySaver, *hooks.StepCounter, *hooks.Logging:
		p.times.Summaries += d
	}
}

// evaluatedWhileSaving counts the time of an evaluation by a listener of the saver as evaluation instead of saving.
func (p *progress) evaluatedWhileSaving(d time.Duration) {
	p.times.Evaluations += d
	p.times.Checkpoints -= d
}
