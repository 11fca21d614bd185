package estimator

import (
	"errors"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
)

// trainingHooks returns all hooks of a training loop: the caller's, the model_fn's, and
// the framework's own that the RunConfig asks for.
func (e *Estimator) trainingHooks(s *session, o runOptions) ([]hooks.Hook, error) {
	if o.bare {
		return nil, nil
	}
	rc, spec := e.config, s.program.spec
	hs := append([]hooks.Hook{}, o.hooks...)
	switch {
	case o.maxStepsSet:
		hs = append(hs, hooks.NewStopAtStep(o.maxSteps))
	case o.stepsSet:
		hs = append(hs, hooks.NewStopAfterSteps(o.steps))
	}
	hs = append(hs, spec.TrainingHooks...)
	if !has[*hooks.NaN](hs) {
		hs = append(hs, hooks.NewNaN("loss"))
	}
	if s.skipLimit() > 0 {
		hs = append(hs, hooks.NewSkippedUpdates(e.log))
	}
	if n := rc.LogStepCountSteps(); n > 0 && !has[*hooks.Logging](hs) {
		hs = append(hs, hooks.NewLogging(e.log, int64(n), "loss"))
	}
	if !e.isChief() {
		if len(o.listeners) > 0 {
			e.log.Warn("saving listeners are for the chief: ignored in this task")
		}
		return hs, nil
	}
	return e.chiefHooks(s, o, hs)
}

// chiefHooks adds the hooks that only the chief has.
func (e *Estimator) chiefHooks(s *session, o runOptions, hs []hooks.Hook) ([]hooks.Hook, error) {
	rc := e.config
	hs = append(hs, s.program.spec.TrainingChiefHooks...)
	if n := rc.LogStepCountSteps(); n > 0 {
		hs = append(hs, hooks.NewStepCounter(int64(n)))
		if _, ok := s.strategy.(distribute.Paced); ok {
			hs = append(hs, hooks.NewWorkerSteps(e.log, int64(n)))
		}
	}
	if n := rc.SaveSummarySteps(); n > 0 {
		hs = append(hs, hooks.NewSummarySaver(int64(n)))
	}
	return e.addSaver(hs, o)
}

// addSaver adds the checkpoint saver, unless hs has one, and adds the listeners to it.
func (e *Estimator) addSaver(hs []hooks.Hook, o runOptions) ([]hooks.Hook, error) {
	for i, h := range hs {
		if s, ok := h.(*hooks.CheckpointSaver); ok {
			hs[i] = s.With(o.listeners...)
			return hs, nil
		}
	}
	steps, secs := e.config.SaveCheckpointsSteps(), e.config.SaveCheckpointsSecs()
	if steps == 0 && secs == 0 {
		if len(o.listeners) > 0 {
			return nil, errors.New("there should be a CheckpointSaver hook to use saving listeners: set save_checkpoints_steps or _secs")
		}
		return hs, nil
	}
	saver, err := hooks.NewCheckpointSaver(hooks.Every{Steps: steps, Secs: secs}, o.listeners...)
	if err != nil {
		return nil, err
	}
	return append(hs, saver), nil
}

// has reports whether one of the hooks is an H.
func has[H hooks.Hook](hs []hooks.Hook) bool {
	for _, h := range hs {
		if _, ok := h.(H); ok {
			return true
		}
	}
	return false
}
