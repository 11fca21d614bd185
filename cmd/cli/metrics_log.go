package cli

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/cmd/cli/internal/metricslog"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
)

// metricsLog is the hook that writes run.metrics_log: what training logs, and evaluations. Only the chief
// has one.
type metricsLog struct {
	hooks.Base
	job   *job
	every int64 // steps; 0: training is not logged
	log   *metricslog.Log
	begun bool
	last  int64 // the last step that was written
}

var (
	_ hooks.Selective   = (*metricsLog)(nil)
	_ hooks.Prioritized = (*metricsLog)(nil)
)

// Priority is the priority of writers.
func (h *metricsLog) Priority() int { return hooks.PriorityWrite }

// Begin requests the tensors.
func (h *metricsLog) Begin(s hooks.Setup) error {
	for _, name := range []string{"loss", "learning_rate"} {
		if err := s.Fetch(name); err != nil {
			return err
		}
	}
	return nil
}

// AfterCreateSession removes the records of steps that will be repeated.
func (h *metricsLog) AfterCreateSession(_ context.Context, r hooks.Run) error {
	if err := h.open(); err != nil {
		return err
	}
	return h.failed(h.log.Resume(r.GlobalStep()))
}

// Reads reports whether the next step is logged.
func (h *metricsLog) Reads(r hooks.Run) bool {
	return h.every > 0 && (!h.begun || hooks.PassesMultiple(h.last, r.GlobalStep()+1, h.every))
}

// AfterRun writes the step if it is logged.
func (h *metricsLog) AfterRun(_ context.Context, r hooks.Run) error {
	step := r.GlobalStep()
	if h.every == 0 || h.begun && !hooks.PassesMultiple(h.last, step, h.every) {
		return nil
	}
	h.begun, h.last = true, step
	var values []metricslog.Value
	for _, name := range []string{"loss", "learning_rate"} {
		v, err := r.Value(name)
		if err != nil {
			return err
		}
		if v.Len() > 0 {
			values = append(values, metricslog.Value{Name: name, Number: v.Float(0)})
		}
	}
	return h.failed(h.log.Add("train", step, values))
}

// evaluated writes an evaluation; without a log it does nothing.
func (h *metricsLog) evaluated(res estimator.EvalResult) error {
	if h == nil {
		return nil
	}
	if err := h.open(); err != nil {
		return err
	}
	var values []metricslog.Value
	for _, name := range sortedNames(res.Metrics) {
		if x, ok := res.Scalar(name); ok {
			values = append(values, metricslog.Value{Name: name, Number: x})
		}
	}
	phase := "eval"
	if name := h.job.cfg.Eval.Name; name != "" {
		phase += "_" + name
	}
	return h.failed(h.log.Add(phase, res.GlobalStep, values))
}

// open opens the files, once it is certain that the model_dir is this model's.
func (h *metricsLog) open() (err error) {
	if h.log == nil {
		h.log, err = metricslog.Open(h.job.est.ModelDir(), h.job.cfg.Run.MetricsLog)
	}
	return h.failed(err)
}

func (h *metricsLog) failed(err error) error {
	if err != nil {
		return fmt.Errorf("run.metrics_log: %w", err)
	}
	return nil
}

// close closes the files, if there are any.
func (h *metricsLog) close() error {
	if h == nil || h.log == nil {
		return nil
	}
	return h.failed(h.log.Close())
}
