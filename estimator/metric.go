package estimator

import (
	"github.com/goestimator/goestimator/estimator/metrics"
	G "gorgonia.org/gorgonia"
)

// Metric binds an accumulator to the nodes that update it in each batch.
type Metric struct {
	// New makes an empty accumulator.
	New func() (metrics.Accumulator, error)
	// Args are the operands of its Update.
	Args []*G.Node
}

// NewMetric binds a registered metric without parameters (see metrics.Names) to its
// operands: labels, predictions and, optionally, weights.
func NewMetric(name string, args ...*G.Node) Metric {
	return Metric{New: func() (metrics.Accumulator, error) { return metrics.New(name) }, Args: args}
}
