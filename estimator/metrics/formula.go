package metrics

import (
	"fmt"
	"hash/fnv"

	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// Formula is a custom metric, written as formulas. It is merged between replicas and
// tasks, and exported, like the metrics of this package.
type Formula struct {
	state
	terms, result expr.Program
}

// NewFormula returns a metric that is a function of weighted sums. Each element of labels and
// predictions adds terms, times its weight, to the sums, which start at zero. result computes the
// metric from the sums. The name distinguishes the metric from others. Update takes labels,
// predictions[, weights], as for NewMSE.
//
// For example, the share of the labels' variance that predictions do not explain:
//
//	terms: 1, label, label^2, (label - prediction)^2
//	result: sums[3] / (sums[2] - sums[1]^2/sums[0])
func NewFormula(name string, terms func(label, prediction expr.Expr) []expr.Expr, result func(sums []expr.Expr) expr.Expr) (*Formula, error) {
	if name == "" || terms == nil || result == nil {
		return nil, fmt.Errorf("formula %q: %w: expected a name, terms and a result", name, ErrParameter)
	}
	all := terms(expr.Input("label"), expr.Input("prediction"))
	sums := make([]expr.Expr, len(all))
	for i := range sums {
		sums[i] = expr.Input(sumName(i))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("formula %s: %w: expected at least one term, got none", name, ErrParameter)
	}
	m := &Formula{terms: expr.Trace(all...), result: expr.Trace(result(sums))}
	if err := m.terms.Check("label", "prediction"); err != nil {
		return nil, fmt.Errorf("formula %s: %w: terms: %w", name, ErrParameter, err)
	}
	if err := m.result.Check(expr.Trace(sums...).Inputs()...); err != nil {
		return nil, fmt.Errorf("formula %s: %w: result: %w", name, ErrParameter, err)
	}
	if !m.terms.Elementwise() {
		return nil, fmt.Errorf("formula %s: %w: a term with a Norm, which depends on how examples are batched: expected one of each element alone", name, ErrParameter)
	}
	print := fnv.New64a()
	fmt.Fprint(print, m.terms, m.result)
	m.state = newState(fmt.Sprintf("%s(formula=%016x)", name, print.Sum64()), len(all))
	return m, nil
}

func sumName(i int) string { return fmt.Sprintf("sum%d", i) }

// Terms is the program of the terms; its inputs are label and prediction.
func (m *Formula) Terms() expr.Program { return m.terms }

// Value is the program of the result; its inputs are sum0, sum1, ...
func (m *Formula) Value() expr.Program { return m.result }

// Update implements Accumulator.
func (m *Formula) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	labels, err := numbers[float64]("labels", a.labels)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := numbers[float64]("predictions", a.predictions)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	for k, term := range m.terms.Compute(len(labels), map[string][]float64{"label": labels, "prediction": predictions}) {
		total := 0.0
		for i, v := range term {
			total += a.weights.at(i) * v
		}
		m.sums[k] += total
	}
	return nil
}

// Result implements Accumulator.
func (m *Formula) Result() Value {
	sums := map[string]expr.Expr{}
	for i, s := range m.sums {
		sums[sumName(i)] = expr.Number(s)
	}
	v, _ := m.result.Bind(sums)[0].Value()
	return scalar(v)
}
