package distribute

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/tensor"
)

// totals returns the strategy if the sums of metrics are variables to which all tasks add, else nil.
func (s *Strategy) totals() strategies.Totals {
	t, ok := s.inner.(strategies.Totals)
	if !ok {
		return nil
	}
	return t
}

// total returns the name of the variable of a metric's sums.
func (m *Metric) total() string { return saved.PrivatePrefix + "totals/" + m.name }

// initialTotals returns the variables of metrics, if there are any.
func (s *Strategy) initialTotals() (all []initialValue, err error) {
	if s.totals() == nil {
		return nil, nil
	}
	for _, m := range s.metrics {
		sums, ok := metrics.Sums(m.state)
		if !ok {
			return nil, fmt.Errorf("metric %s: strategy %s keeps sums of metrics, which %T has not: let an Evaluation have it, or choose another metric", m.name, s.Name(), m.state)
		}
		zeros := tensor.New(tensor.Float64, len(sums))
		all = append(all, initialValue{m.total(), graph.TypeOf(tensor.Float64, len(sums)), strategies.Whole(zeros)})
	}
	return all, nil
}

// addToTotal moves this task's sums to the sums of all tasks.
func (m *Metric) addToTotal(ctx context.Context, to strategies.Totals) error {
	sums, _ := metrics.Sums(m.state)
	value, err := tensor.FromSlice(sums, len(sums))
	if err != nil {
		return err
	}
	if err := to.AddTo(ctx, m.total(), value); err != nil {
		return err
	}
	m.state.Reset()
	return nil
}

// fromTotal returns the state of all tasks.
func (m *Metric) fromTotal() (metrics.Accumulator, error) {
	t, err := m.strategy.inner.Variables().Get(m.total())
	if err != nil {
		return nil, err
	}
	all, err := m.make()
	if err != nil {
		return nil, err
	}
	sums, _ := metrics.Sums(all)
	copy(sums, tensor.Values[float64](t))
	return all, nil
}

// setTotal sets the sums to the state, from a checkpoint, that this task has.
func (m *Metric) setTotal() error {
	if m.strategy.totals() == nil {
		return nil
	}
	sums, _ := metrics.Sums(m.state)
	value := tensor.New(tensor.Float64, len(sums))
	copy(tensor.Values[float64](value), sums)
	m.state.Reset()
	return m.strategy.inner.Variables().Set(m.total(), strategies.Whole(value))
}
