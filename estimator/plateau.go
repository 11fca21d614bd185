package estimator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// plateau is a training hook that lowers the learning rate of a ReduceOnPlateau schedule after evaluations. The rate is a
// variable of the training and thus in its checkpoints; the rest of the state is saved as this hook's.
type plateau struct {
	hooks.Base
	schedule optimizers.ReduceOnPlateau
	session  *session
	eval     string // the name of the training's evaluations
	state    plateauState
}

// plateauState is what lasts from one evaluation to the next, and from run to run.
type plateauState struct {
	Best     *float64 `json:"best,omitempty"` // nil: no evaluation yet
	Wait     int      `json:"wait"`           // evaluations since the best
	Cooldown int      `json:"cooldown"`       // evaluations that do not count yet
	Share    float64  `json:"share"`          // of the initial rate
	Seen     int64    `json:"seen"`           // the step of the last evaluation, -1 for none
	Eval     string   `json:"eval,omitempty"` // its name
}

var (
	_ hooks.Stateful  = (*plateau)(nil)
	_ hooks.Selective = (*plateau)(nil)
)

// newPlateau returns the hook of a training, nil if its schedule is no ReduceOnPlateau.
func (e *Estimator) newPlateau(s *session, o runOptions) (*plateau, error) {
	p, found, err := s.program.spec.TrainOp.Plateau()
	if err != nil || !found {
		return nil, err
	}
	if e.config.NumPS() > 0 || e.config.NumWorkers() > 1 {
		return nil, errors.New("learning rate: a schedule that waits for a plateau of evaluations needs training in one process: its evaluations do not reach other tasks")
	}
	p.Factor, p.Patience = orDefault(p.Factor, 0.1), orDefault(p.Patience, 10)
	if !(p.Factor > 0 && p.Factor < 1) || p.Patience < 1 || !(p.MinDelta >= 0) || p.Cooldown < 0 || !(p.MinRate >= 0) {
		return nil, fmt.Errorf("learning rate: %+v: expected a factor > 0 and < 1, patience >= 1, and no negative number", p)
	}
	if p.Metric == "" {
		p.Metric = "loss"
	}
	return &plateau{schedule: p, session: s, eval: o.evaluations(), state: plateauState{Share: 1, Seen: -1}}, nil
}

// evaluations returns the name of the evaluations that a training makes; if it makes several kinds, of the first found.
func (o runOptions) evaluations() string {
	for _, h := range o.hooks {
		if h, ok := h.(*InMemoryEvaluator); ok {
			return h.opts.name
		}
	}
	for _, l := range o.listeners {
		if l, ok := l.(*evalListener); ok {
			return l.spec.Name
		}
	}
	return ""
}

func orDefault[T comparable](v, def T) T {
	var none T
	if v == none {
		return def
	}
	return v
}

// StateKey names the state in checkpoints.
func (*plateau) StateKey() string { return "plateau" }

// MarshalBinary returns the state.
func (h *plateau) MarshalBinary() ([]byte, error) { return json.Marshal(h.state) }

// UnmarshalBinary sets the state.
func (h *plateau) UnmarshalBinary(b []byte) error { return json.Unmarshal(b, &h.state) }

// Reads is false: the hook looks at evaluations.
func (*plateau) Reads(hooks.Run) bool { return false }

// AfterCreateSession counts evaluations that were made after the checkpoint was written. If the checkpoint has counted no
// evaluation and so does not know their name, it takes the name of this training's evaluations.
func (h *plateau) AfterCreateSession(_ context.Context, r hooks.Run) error {
	name := h.state.Eval
	if h.state.Seen < 0 {
		name = h.eval
	}
	dir := h.session.est.EvalDir(name)
	all, err := summary.ReadScalars(dir)
	if err != nil {
		h.session.est.log.Warn("plateau: some evaluations could not be read", "dir", dir, "error", err)
	}
	for _, step := range all.Steps() {
		if v, ok := all[step][h.schedule.Metric]; ok && step <= r.GlobalStep() {
			if err := h.count(step, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// observe counts an evaluation of this training.
func (h *plateau) observe(name string, res EvalResult) error {
	v, ok := res.Scalar(h.schedule.Metric)
	if !ok {
		return unknownMetric("learning rate", h.schedule.Metric, res)
	}
	h.state.Eval = name
	return h.count(res.GlobalStep, v)
}

// count follows the steps of tf.keras.callbacks.ReduceLROnPlateau. Values are in single precision, as in events.
func (h *plateau) count(step int64, value float64) error {
	s, p := &h.state, h.schedule
	if step <= s.Seen {
		return nil
	}
	s.Seen, value = step, float64(float32(value))
	if s.Cooldown > 0 {
		s.Cooldown--
		s.Wait = 0
	}
	switch {
	case h.better(value):
		s.Best, s.Wait = &value, 0
		return nil
	case s.Cooldown > 0:
		return nil
	}
	if s.Wait++; s.Wait < p.Patience {
		return nil
	}
	rate := p.Initial * s.Share
	if rate <= p.MinRate {
		return nil
	}
	next := max(rate*p.Factor, p.MinRate)
	s.Share, s.Cooldown, s.Wait = next/p.Initial, p.Cooldown, 0
	h.session.est.log.Info("learning rate reduced", "global_step", step, "metric", p.Metric, "value", value, "from", rate, "to", next)
	return h.session.strategy.Variables().Set(update.PlateauShare, distribute.Whole(tensor.Scalar(s.Share)))
}

// better reports whether a value improves on the best one.
func (h *plateau) better(value float64) bool {
	best := h.state.Best
	switch {
	case math.IsNaN(value), math.IsInf(value, 0):
		return false
	case best == nil:
		return true
	case h.schedule.HigherIsBetter:
		return value > *best+h.schedule.MinDelta
	}
	return value < *best-h.schedule.MinDelta
}

// observed passes an evaluation, with its name, to the training loop that made it. It does nothing outside of one.
func observed(ctx context.Context, r hooks.Run, name string, res EvalResult) error {
	v, ok := r.(trainingView)
	if !ok {
		return nil
	}
	if p := v.saves.plateau; p != nil {
		if err := p.observe(name, res); err != nil {
			return err
		}
	}
	if b := v.saves.best; b != nil {
		return b.observe(ctx, res)
	}
	return nil
}
