package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// Metric is a metric whose state is combined over all replicas of all tasks: in lock step
// when its result is asked for, with parameter servers at each update.
type Metric struct {
	strategy *Strategy
	name     string
	make     func() (metrics.Accumulator, error)
	state    metrics.Accumulator // of this task
}

// Metric makes a metric from a new accumulator. Checkpoints have its state under the name.
func (s *Strategy) Metric(name string, make func() (metrics.Accumulator, error)) (*Metric, error) {
	switch {
	case s.opened:
		return nil, fmt.Errorf("metric %q: %w", name, ErrBuilt)
	case name == "" || make == nil || s.metric(name) != nil:
		return nil, fmt.Errorf("metric %q: expected a name that no other has, and what makes an accumulator", name)
	}
	state, err := make()
	if err == nil && state == nil {
		err = errNoAccumulator
	}
	if err != nil {
		return nil, fmt.Errorf("metric %q: %w", name, err)
	}
	m := &Metric{strategy: s, name: name, make: make, state: state}
	s.metrics = append(s.metrics, m)
	return m, nil
}

var errNoAccumulator = errors.New("expected an accumulator, got nil")

// metric returns the metric of that name, nil for none.
func (s *Strategy) metric(name string) *Metric {
	i := slices.IndexFunc(s.metrics, func(m *Metric) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return s.metrics[i]
}

// Name returns the metric's name.
func (m *Metric) Name() string { return m.name }

// Update adds results of the local replicas: the operands of the accumulator, such as
// labels and predictions, each with a value per replica.
func (m *Metric) Update(ctx context.Context, operands ...PerReplica) error {
	if len(operands) == 0 {
		return fmt.Errorf("metric %s: expected operands", m.name)
	}
	if !m.strategy.ready {
		return fmt.Errorf("metric %s: call Restore, or run a function, first", m.name)
	}
	if err := updateAll(m.state, operands); err != nil {
		return fmt.Errorf("metric %s: %w", m.name, err)
	}
	if to := m.strategy.totals(); to != nil && len(operands[0]) > 0 {
		if err := m.addToTotal(ctx, to); err != nil {
			return fmt.Errorf("metric %s: %w", m.name, err)
		}
	}
	return nil
}

// updateAll adds the operands of each replica.
func updateAll(acc metrics.Accumulator, operands []PerReplica) error {
	args := make([]*tensor.Tensor, len(operands))
	for replica := range operands[0] {
		for i, o := range operands {
			if len(o) != len(operands[0]) {
				return fmt.Errorf("operands of %d and %d replicas: expected equally many", len(operands[0]), len(o))
			}
			args[i] = o[replica]
		}
		if err := acc.Update(args...); err != nil {
			return err
		}
	}
	return nil
}

// Result returns the metric over everything that all tasks have seen since the last Reset.
// In lock step all tasks call it. With parameter servers each task gets the metric over
// what all tasks have seen so far.
func (m *Metric) Result(ctx context.Context) (metrics.Value, error) {
	all, err := m.merged(ctx)
	if err != nil {
		return metrics.Value{}, fmt.Errorf("metric %s: %w", m.name, err)
	}
	return all.Result(), nil
}

// merged returns the state of all tasks.
func (m *Metric) merged(ctx context.Context) (metrics.Accumulator, error) {
	if m.strategy.closed {
		return nil, errClosed
	}
	if m.strategy.totals() != nil && m.strategy.ready {
		return m.fromTotal()
	}
	g := m.strategy.gatherer()
	if g == nil {
		return m.state, nil
	}
	mine, err := m.state.MarshalBinary()
	if err != nil {
		return nil, err
	}
	states, err := gathered(ctx, g, fmt.Sprintf("Result or Save with metric %q", m.name), mine)
	if err != nil {
		return nil, err
	}
	sum, err := m.make()
	if err != nil {
		return nil, err
	}
	for rank, state := range states {
		other, err := m.make()
		if err == nil {
			err = other.UnmarshalBinary(state)
		}
		if err == nil {
			err = sum.Merge(other)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("state of worker %d", rank), err)
		}
	}
	return sum, nil
}

// Reset forgets everything seen. In lock step all tasks call it. With parameter servers only
// the chief's call has an effect.
func (m *Metric) Reset(ctx context.Context) error {
	m.state.Reset()
	to := m.strategy.totals()
	if to == nil || !m.strategy.ready || !m.strategy.IsChief() {
		return nil
	}
	sums, _ := metrics.Sums(m.state)
	if err := to.Assign(ctx, m.total(), tensor.New(tensor.Float64, len(sums))); err != nil {
		return fmt.Errorf("metric %s: %w", m.name, err)
	}
	return nil
}
