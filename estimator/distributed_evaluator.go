package estimator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// evaluatesOnWorkers reports whether every worker evaluates its share of the data.
func (e *Estimator) evaluatesOnWorkers() bool {
	return distribute.Config{Strategy: e.config.EvalDistribute()}.Lockstep() && e.config.NumWorkers() > 1
}

// distributedEvaluator is a hook of every worker in lock step. At the same steps each
// worker evaluates the current variables on its share of the data. The metrics are
// merged, so that every example counts once.
type distributedEvaluator struct {
	hooks.Base
	est    *Estimator
	spec   EvalSpec
	latest int64 // step of the last evaluation, -1 for none
	last   *EvalResult
}

var _ hooks.Tensorless = (*distributedEvaluator)(nil)

func newDistributedEvaluator(e *Estimator, spec EvalSpec) *distributedEvaluator {
	return &distributedEvaluator{est: e, spec: spec, latest: -1}
}

// Tensorless marks that the hook also runs on a worker without data to train on.
func (h *distributedEvaluator) Tensorless() {}

// AfterRun evaluates every n steps, if configured.
func (h *distributedEvaluator) AfterRun(ctx context.Context, r hooks.Run) error {
	if h.spec.EverySteps == 0 || r.GlobalStep()%h.spec.EverySteps != 0 {
		return nil
	}
	return h.evaluate(ctx, r, false)
}

// End evaluates the last step. If that was done already, AfterEval is told that it was the last one.
func (h *distributedEvaluator) End(ctx context.Context, r hooks.Run) error {
	if h.latest != r.GlobalStep() {
		return h.evaluate(ctx, r, true)
	}
	if v, ok := r.(trainingView); !ok || !v.IsChief() || h.spec.AfterEval == nil {
		return nil
	}
	return h.spec.AfterEval(ctx, *h.last, true)
}

func (h *distributedEvaluator) evaluate(ctx context.Context, r hooks.Run, final bool) error {
	v, ok := r.(trainingView)
	if !ok {
		return errors.New("distributed evaluation: expected a training loop")
	}
	all, ok := v.session.strategy.(distribute.Gatherer)
	if !ok {
		return mistakef("distributed evaluation: strategy %s has no workers in lock step", v.session.strategy.Name())
	}
	o, err := newRunOptions(h.spec.options(), EvalOption.forEval)
	if err != nil {
		return err
	}
	o.inMemory = true
	o.merge = func(ctx context.Context, acc *accumulators, batches int64) (int64, error) {
		return acc.mergeAll(ctx, all, batches)
	}
	inf, ds, err := h.est.openInference(ctx, models.Eval, h.spec.Input)
	if err != nil {
		return err
	}
	if err := inf.copyFrom(v.session); err != nil {
		return err
	}
	res, err := inf.evaluate(ctx, ds, o)
	if err != nil {
		return fmt.Errorf("distributed evaluation: %w", err)
	}
	h.latest, h.last = r.GlobalStep(), &res
	if !v.IsChief() {
		return nil
	}
	if err := h.est.writeEvalEvents(o.name, res); err != nil || h.spec.AfterEval == nil {
		return err
	}
	return h.spec.AfterEval(ctx, res, final)
}

// mergeAll replaces this task's accumulators by the accumulators of all tasks, merged
// in the order of their ranks, so that all tasks get bit-identical results. Each task
// sends its number of batches and then each state, prefixed with its size; numbers are
// 8 bytes, little endian.
func (a *accumulators) mergeAll(ctx context.Context, g distribute.Gatherer, batches int64) (int64, error) {
	mine := binary.LittleEndian.AppendUint64(nil, uint64(batches))
	for _, acc := range a.list() {
		state, err := acc.MarshalBinary()
		if err != nil {
			return 0, err
		}
		mine = append(binary.LittleEndian.AppendUint64(mine, uint64(len(state))), state...)
	}
	all, err := g.Gather(ctx, mine)
	if err != nil {
		return 0, err
	}
	others, err := a.others()
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for rank, b := range all {
		n, err := a.mergeOne(b, others, rank == 0)
		if err != nil {
			return 0, fmt.Errorf("metrics of worker %d: %w", rank, err)
		}
		total += n
	}
	return total, nil
}

// list returns all accumulators, in the same order in all tasks.
func (a *accumulators) list() []metrics.Accumulator {
	out := []metrics.Accumulator{a.loss}
	for _, b := range a.bound {
		out = append(out, b.acc)
	}
	return out
}

// others returns empty accumulators of the same kinds as list.
func (a *accumulators) others() ([]metrics.Accumulator, error) {
	out := []metrics.Accumulator{metrics.NewMean()}
	for _, b := range a.bound {
		acc, err := b.empty()
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", b.name, err)
		}
		out = append(out, acc)
	}
	return out, nil
}

// mergeOne merges a task's message; the first one replaces the accumulators.
func (a *accumulators) mergeOne(b []byte, others []metrics.Accumulator, first bool) (batches int64, err error) {
	if len(b) < 8 {
		return 0, fmt.Errorf("expected at least 8 bytes, got %d", len(b))
	}
	batches = int64(binary.LittleEndian.Uint64(b))
	b = b[8:]
	for i, acc := range a.list() {
		if len(b) < 8 || uint64(len(b)-8) < binary.LittleEndian.Uint64(b) {
			return 0, fmt.Errorf("expected the states of %d metrics, got fewer", 1+len(a.bound))
		}
		n := binary.LittleEndian.Uint64(b)
		state := b[8 : 8+n]
		b = b[8+n:]
		if first {
			err = acc.UnmarshalBinary(state)
		} else if err = others[i].UnmarshalBinary(state); err == nil {
			err = acc.Merge(others[i])
		}
		if err != nil {
			return 0, err
		}
	}
	return batches, nil
}
