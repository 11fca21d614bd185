package cli

import (
	"fmt"
	"strings"
)

// sweepText is the sweep section of the config. Its trials vary the chosen model.
func (d *draft) sweepText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# For goestimator sweep --config FILE: trials of other values, each a training of its own.\nsweep:\n  metric: %s\n  algorithm: tpe\n  trials: 20\n", d.metric())
	if d.model.network() {
		b.WriteString("  median_stopping: true\n")
	}
	b.WriteString("  parameters:\n")
	for _, p := range d.swept() {
		fmt.Fprintf(&b, "    - {key: model.params.%s}\n", p)
	}
	return b.String()
}

// swept are the parameters of a model that a sweep varies, each with its values.
func (d *draft) swept() []string {
	m := d.model
	around := func(key string, v float64) string {
		return fmt.Sprintf("%s, min: %.3g, max: %.3g, log: true", key, v/4, v*4)
	}
	units := func(key string) string {
		list := []string{unitsText(m.units), unitsText(scaled(m.units, 2)), unitsText(scaled(m.units, 4))}
		return fmt.Sprintf("%s, values: [%s]", key, strings.Join(list, ", "))
	}
	switch {
	case m.wide && m.units != nil:
		return []string{around("linear_optimizer.learning_rate.initial", m.rate), "dnn_dropout, min: 0, max: 0.5", units("dnn_hidden_units")}
	case m.wide || m.linear:
		return []string{around("optimizer.learning_rate.initial", m.rate)}
	case m.network():
		return []string{around("optimizer.learning_rate.initial", m.rate), "dropout, min: 0, max: 0.5", units("hidden_units")}
	}
	f := m.forest
	return []string{
		around("learning_rate", f.rate),
		fmt.Sprintf("max_depth, min: %d, max: %d, integer: true", max(f.depth-2, 1), f.depth+2),
		fmt.Sprintf("n_trees, min: %d, max: %d, integer: true, log: true", max(f.trees/2, 1), 2*f.trees),
		around("l2_regularization", f.l2/float64(d.inMemory())),
	}
}

// scaled multiplies the widths of layers.
func scaled(units []int, times int) []int {
	out := make([]int, len(units))
	for i, n := range units {
		out[i] = times * n
	}
	return out
}
