package estimator

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/training/update"
)

// trainingView is what hooks see of a training loop; some save checkpoints and write summaries.
type trainingView struct {
	loopView
	saves *checkpoints
	files *trainingFiles
}

var (
	_ view                = trainingView{}
	_ hooks.Checkpointer  = trainingView{}
	_ hooks.Summarizer    = trainingView{}
	_ hooks.SummarySource = trainingView{}
	_ hooks.WorkerTimer   = trainingView{}
	_ hooks.UpdateSkipper = trainingView{}
	_ hooks.InputWaiter   = trainingView{}
	_ hooks.StepTimer     = trainingView{}
)

// Events is the chief's event file.
func (v trainingView) Events() hooks.EventWriter { return v.files.events }

// WorkerSteps returns the step times of the workers, if the strategy knows them.
func (v trainingView) WorkerSteps(ctx context.Context) ([]hooks.WorkerStep, error) {
	s, ok := v.session.strategy.(distribute.Paced)
	if !ok {
		return nil, nil
	}
	var out []hooks.WorkerStep
	all, err := s.Paces(ctx)
	for _, p := range all {
		out = append(out, hooks.WorkerStep{Worker: fmt.Sprintf("%s_%d", p.Worker.Job, p.Worker.Index), Secs: p.Secs})
	}
	return out, err
}

// InputWait returns the time that steps have waited for batches.
func (v trainingView) InputWait() time.Duration { return v.saves.input.waited }

// StepTimes returns the times of the loop's parts.
func (v trainingView) StepTimes() hooks.StepTimes { return v.times }

// InputSteps returns the steps of the input pipeline, as its meter has them.
func (v trainingView) InputSteps() []inputs.StepTime { return v.saves.input.meter.Steps() }

// SkippedUpdates reads the optimizer's counts of skipped updates.
func (v trainingView) SkippedUpdates() (hooks.Skipped, error) {
	s := hooks.Skipped{Limit: v.session.skipLimit()}
	if s.Limit == 0 {
		return s, nil
	}
	var err error
	if s.InARow, err = v.counter(update.SkippedInARow); err != nil {
		return s, err
	}
	s.Total, err = v.counter(update.Skipped)
	return s, err
}

// counter returns the value of a variable that counts.
func (v trainingView) counter(name string) (int64, error) {
	t, err := v.session.strategy.Variables().Get(name)
	if err != nil {
		return 0, err
	}
	return t.Int(0), nil
}

// Variables returns the model's variables, without the optimizer's slots.
func (v trainingView) Variables() []hooks.VariableInfo { return v.session.program.variableInfos() }

// Summaries returns the model_fn's summaries and the automatic ones.
func (v trainingView) Summaries() []hooks.SummaryTensor {
	return v.session.program.summaryTensors(v.session.est.auto)
}

// SaveCheckpoint writes the state after the last step.
func (v trainingView) SaveCheckpoint(ctx context.Context) (string, error) { return v.saves.save(ctx) }
