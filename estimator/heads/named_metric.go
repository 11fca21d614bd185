package heads

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/platform/params"
)

// metrics reads the parameter metrics: a list of names, or of maps of a name and the metric's parameters.
func (r paramReader) metrics() []Option {
	given := r.Any(paramMetrics)
	if given == nil {
		return nil
	}
	items, ok := params.List(given, func(x any) (any, bool) { return x, true })
	if list, is := given.([]any); is {
		items, ok = list, true
	}
	if !ok {
		r.Expect(paramMetrics, "a list of names, or of maps with a name")
		return nil
	}
	var all []NamedMetric
	for _, item := range items {
		m, err := readMetric(item)
		if err != nil {
			r.Refuse(paramMetrics, err)
			return nil
		}
		all = append(all, m)
	}
	return []Option{WithMetrics(all...)}
}

// readMetric reads one item: a name, or a map of the name, the name in results (as) and parameters.
func readMetric(item any) (NamedMetric, error) {
	given, ok := item.(map[string]any)
	if !ok {
		name, ok := item.(string)
		if !ok {
			return NamedMetric{}, fmt.Errorf("expected a name, or a map with a name, got %v (%T)", item, item)
		}
		given = map[string]any{"name": strings.TrimSpace(name)}
	}
	p := params.Read("", given)
	m := NamedMetric{Kind: p.String("name", ""), Name: p.String("as", "")}
	if !slices.Contains(metrics.Names(), m.Kind) {
		return m, fmt.Errorf("unknown metric %q: known are %s", m.Kind, strings.Join(metrics.Names(), ", "))
	}
	m.Params = metricParameters(p)
	return m, p.Done()
}

// metricParameters returns the metric parameters that p has.
func metricParameters(p *params.Reader) []metrics.Param {
	var out []metrics.Param
	add := func(name string, param metrics.Param) {
		if p.Has(name) {
			out = append(out, param)
		}
	}
	add("thresholds", metrics.WithThresholds(p.Floats("thresholds")...))
	add("num_thresholds", metrics.WithNumThresholds(p.Int("num_thresholds", 0, 2)))
	add("bound", metrics.WithBound(p.FloatIn("bound", 0, 0, 1)))
	add("beta", metrics.WithBeta(p.FloatIn("beta", 1, 1e-6, 1e6)))
	add("k", metrics.WithK(p.Int("k", 1, 1)))
	add("class_ids", metrics.WithTargets(p.Ints("class_ids", 0)...))
	add("max_order", metrics.WithOrder(p.Int("max_order", 4, 1)))
	add("smoothing", metrics.WithSmoothing(metrics.Smoothing(p.String("smoothing", ""))))
	add("end", metrics.WithEnd(int64(p.Int("end", 0, 0))))
	add("summation", metrics.WithSummation(metrics.Summation(p.String("summation", ""))))
	return out
}
