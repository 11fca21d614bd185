package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// RestoreBest lets a training end with the weights of its best evaluation, as restore_best_weights does in Keras'
// EarlyStopping. Weights are the model's variables and their averages. The optimizer's slots, the global step and the
// input's position stay as they are after the last step.
type RestoreBest struct {
	Metric         string
	HigherIsBetter bool
	MinSteps       int64 // evaluations of earlier steps do not count
}

// bestWeights is the training hook that keeps the checkpoint of the best evaluation, and restores it at the end.
type bestWeights struct {
	hooks.Base
	rule        RestoreBest
	eval        string // the name of the training's evaluations
	session     *session
	checkpoints *checkpoints
	best        *checkpoint.Best // nil: no evaluation counts yet
}

var _ hooks.Selective = (*bestWeights)(nil)

// newBestWeights returns the hook of a training, nil if it ends with its last weights.
func (t *training) newBestWeights(o runOptions) *bestWeights {
	l := o.evalListener()
	if l == nil || l.restore == nil {
		return nil
	}
	return &bestWeights{rule: *l.restore, eval: l.spec.Name, session: t.session, checkpoints: t.checkpoints}
}

// evalListener is the listener of TrainAndEvaluate, nil in other trainings.
func (o runOptions) evalListener() *evalListener {
	for _, l := range o.listeners {
		if l, ok := l.(*evalListener); ok {
			return l
		}
	}
	return nil
}

// checkRestorable refuses to restore the best weights if another task evaluates, or several train.
func (e *Estimator) checkRestorable(train TrainSpec) error {
	if train.RestoreBest == nil || e.config.ClusterSpec().Len() <= 1 {
		return nil
	}
	return mistakef("restoring the weights of the best evaluation (train.early_stopping.restore_best) needs training in one process: evaluations do not reach other tasks: leave it out, and export by an exporter of kind best")
}

// Reads is false: the hook looks at evaluations.
func (*bestWeights) Reads(hooks.Run) bool { return false }

// AfterCreateSession takes over the best evaluation of earlier runs. If a run was killed after it evaluated the
// checkpoint that training continues from, but before it recorded that evaluation, this evaluation counts, too.
func (h *bestWeights) AfterCreateSession(ctx context.Context, r hooks.Run) error {
	st, err := checkpoint.LoadRunState(atomicfile.OS{}, h.session.est.modelDir)
	if err != nil {
		return err
	}
	h.best = nil
	if b := st.Best; b != nil && h.usable(*b, r.GlobalStep()) {
		h.best = b
		if b.Restored > r.GlobalStep() { // its checkpoint is gone, and the step is made again
			b.Restored, b.Evaluated = 0, 0
			if err := h.note(); err != nil {
				return err
			}
		}
		if err := h.checkpoints.files.saver.Spare(h.prefix(b.GlobalStep)); err != nil {
			return err
		}
	}
	all, err := summary.ReadScalars(h.session.est.EvalDir(h.eval))
	if err != nil {
		h.session.est.log.Warn("restore best: some evaluations could not be read", "error", err)
	}
	if v, ok := all[r.GlobalStep()][h.rule.Metric]; ok {
		return h.count(ctx, r.GlobalStep(), v)
	}
	return nil
}

// usable reports whether an earlier run chose its best evaluation by this rule, and its checkpoint can be read.
func (h *bestWeights) usable(b checkpoint.Best, step int64) bool {
	if b.Metric != h.rule.Metric || b.HigherIsBetter != h.rule.HigherIsBetter || b.GlobalStep > step || b.GlobalStep < h.rule.MinSteps {
		return false
	}
	r, err := checkpoint.Open(h.prefix(b.GlobalStep))
	if err != nil {
		h.session.est.log.Warn("the checkpoint of the best evaluation cannot be restored: the best begins anew", "step", b.GlobalStep, "error", err)
		return false
	}
	return r.Close() == nil
}

func (h *bestWeights) prefix(step int64) string {
	return filepath.Join(h.session.est.modelDir, fmt.Sprintf("%s-%d", checkpoint.Base, step))
}

// observe looks at an evaluation of the variables as they are now.
func (h *bestWeights) observe(ctx context.Context, res EvalResult) error {
	v, ok := res.Scalar(h.rule.Metric)
	if !ok {
		return unknownMetric("restore best", h.rule.Metric, res)
	}
	return h.count(ctx, res.GlobalStep, v)
}

// count saves the variables and keeps their checkpoint if their evaluation is the best so far. As in Keras, the first of
// equal values is the best, and a value that is not finite never is.
func (h *bestWeights) count(ctx context.Context, step int64, value float64) error {
	value = float64(float32(value)) // as events have it
	switch {
	case step < h.rule.MinSteps || math.IsNaN(value) || math.IsInf(value, 0):
		return nil
	case h.best != nil && (value == h.best.Value || h.rule.HigherIsBetter != (value > h.best.Value)):
		return nil
	}
	prefix, err := h.checkpoints.save(context.WithoutCancel(ctx)) // an interrupted training keeps its steps
	if err != nil {
		return err
	}
	h.best = &checkpoint.Best{Metric: h.rule.Metric, HigherIsBetter: h.rule.HigherIsBetter, Value: value, GlobalStep: step}
	if err := h.note(); err != nil {
		return err
	}
	return h.checkpoints.files.saver.Spare(prefix)
}

// note records the best evaluation for later runs.
func (h *bestWeights) note() error {
	return checkpoint.UpdateRunState(h.checkpoints.files.fs, h.session.est.modelDir, func(s *checkpoint.RunState) { s.Best = h.best })
}

// restore sets the model to the weights of the best evaluation, saves them as the checkpoint of the last step, and returns
// its prefix. It returns "" if the model has these weights already.
func (h *bestWeights) restore(ctx context.Context) (prefix string, err error) {
	c, step := h.checkpoints, h.checkpoints.progress.step
	if h.best == nil || h.best.GlobalStep == step || h.best.Restored == step {
		return "", nil
	}
	from := h.prefix(h.best.GlobalStep)
	r, err := checkpoint.Open(from)
	if err != nil {
		return "", fmt.Errorf("restoring the weights of the best evaluation: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var names []string
	for _, v := range h.session.program.variables {
		names = append(names, v.Name)
		if average := h.session.est.averages(h.session)[v.Name]; average != "" {
			names = append(names, average)
		}
	}
	problems, err := saved.RestoreThese(r, h.session.strategy, names)
	if len(problems) > 0 {
		err = &MismatchError{Prefix: from, Problems: problems}
	}
	if err != nil {
		return "", fmt.Errorf("restoring the weights of the best evaluation: %w", err)
	}
	c.saved = -1 // the step is saved again
	if prefix, err = c.save(ctx); err != nil {
		return "", err
	}
	h.best.Restored = step
	h.session.est.log.Info("restored the weights of the best evaluation", "metric", h.rule.Metric, "value", h.best.Value, "best_step", h.best.GlobalStep, "global_step", step)
	return prefix, h.note()
}

// current reports whether a recorded evaluation of the last step belongs to the step's checkpoint. It does not if the best
// weights were restored there and not evaluated since: then it is of the step's own weights.
func (l *evalListener) current(res EvalResult) bool {
	if l.restore == nil {
		return true
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, l.est.modelDir)
	return err == nil && (s.Best == nil || s.Best.Restored != res.GlobalStep || s.Best.Evaluated == res.GlobalStep)
}

// noteEvaluated reports whether a step has the best weights in place of its own, and if so records that they were evaluated.
func (l *evalListener) noteEvaluated(step int64) (restored bool, err error) {
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, l.est.modelDir)
	if err != nil || s.Best == nil || s.Best.Restored != step {
		return false, err
	}
	if s.Best.Evaluated == step {
		return true, nil
	}
	return true, checkpoint.UpdateRunState(atomicfile.OS{}, l.est.modelDir, func(s *checkpoint.RunState) { s.Best.Evaluated = step })
}

// restorePending reports whether a run that was killed left the checkpoint of its last step without the weights of its best
// evaluation.
func (e *Estimator) restorePending(o runOptions, step int64) bool {
	l := o.evalListener()
	if l == nil || l.restore == nil {
		return false
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, e.modelDir)
	return err == nil && s.Best != nil && s.Best.GlobalStep < step && s.Best.Restored != step
}
