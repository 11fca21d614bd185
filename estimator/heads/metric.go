package heads

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	G "gorgonia.org/gorgonia"
)

// metricSet collects the metrics of a head. It adds the head's name to their names, and
// the weights to their operands.
type metricSet struct {
	name    string
	weights *G.Node
	all     estimator.Metrics
}

func (b base) newMetrics(weights *G.Node) *metricSet {
	return &metricSet{b.name, weights, estimator.Metrics{}}
}

// add adds the registered metric kind, of labels and predictions or of values.
func (s *metricSet) add(key, kind string, args []*G.Node, params ...metrics.Param) {
	if s.weights != nil {
		args = append(args[:len(args):len(args)], s.weights)
	}
	s.all[suffixed(key, s.name)] = estimator.Metric{New: func() (metrics.Accumulator, error) { return metrics.New(kind, params...) }, Args: args}
}

// addAt adds accuracy, precision and recall at thresholds.
func (s *metricSet) addAt(thresholds []float64, labels, probabilities *G.Node) {
	for _, t := range thresholds {
		for key, kind := range map[string]string{"accuracy": "binary_accuracy", "precision": "precision", "recall": "recall"} {
			s.add(fmt.Sprintf("%s/positive_threshold_%g", key, t), kind, []*G.Node{labels, probabilities}, metrics.WithThresholds(t))
		}
	}
}

// addAUC adds the areas under both curves.
func (s *metricSet) addAUC(suffix string, labels, probabilities *G.Node) {
	s.add("auc"+suffix, "auc", []*G.Node{labels, probabilities})
	s.add("auc_precision_recall"+suffix, "auc_precision_recall", []*G.Node{labels, probabilities})
}

// meanOf returns the unweighted mean of a node.
func meanOf(n *G.Node) estimator.Metric { return estimator.NewMetric("mean", n) }
