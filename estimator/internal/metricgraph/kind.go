package metricgraph

import (
	"math"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// The epsilons of package metrics: one keeps probabilities away from 0 and 1, the methods of
// tf.compat.v1.metrics.auc add the other to ratios.
const (
	clipEpsilon  = 1e-7
	ratioEpsilon = 1e-6
)

// kind says how some metrics become nodes.
type kind struct {
	sums  func(metrics.Form) int
	first float64                                           // initial value of every sum: 0, or infinite for extremes
	batch func(e *emission) graph.Output                    // the sums of one batch, [sums]
	value func(e *emission, sums graph.Output) graph.Output // the metric, from the sums
}

// kinds are the kinds by the names of metrics.
var kinds = map[string]kind{
	"mean":                            ratioOf((*emission).values),
	"accuracy":                        ratioOf((*emission).accuracy),
	"binary_accuracy":                 ratioOf((*emission).binaryAccuracy),
	"mse":                             ratioOf(meanError((*emission).squaredError)),
	"mae":                             ratioOf(meanError((*emission).absoluteError)),
	"mape":                            ratioOf(meanError((*emission).percentageError)),
	"cosine_similarity":               ratioOf((*emission).cosine),
	"r2":                              {sums: fourOfOutputs, batch: (*emission).moments, value: (*emission).explained},
	"log_loss":                        ratioOf(meanError((*emission).binaryCrossentropy)),
	"sparse_categorical_crossentropy": ratioOf((*emission).crossEntropy),
	"perplexity":                      {sums: two, batch: (*emission).crossEntropy, value: (*emission).expOfMean},
	"top_k":                           ratioOf((*emission).topK),
	"accuracy_baseline":               {sums: two, batch: (*emission).values, value: (*emission).accuracyBaseline},
	"rmse":                            {sums: two, batch: meanError((*emission).squaredError), value: (*emission).rootOfMean},
	"min":                             extremeFrom(math.Inf(1)),
	"max":                             extremeFrom(math.Inf(-1)),
	"confusion_matrix":                {sums: pairs, batch: (*emission).classCounts, value: (*emission).confusionMatrix},
	"mean_iou":                        {sums: pairs, batch: (*emission).classCounts, value: (*emission).meanIoU},
	"f1_macro":                        ofClasses((*emission).f1Macro),
	"f1_micro":                        ofClasses((*emission).f1Micro),
	"f1_weighted":                     ofClasses((*emission).f1Weighted),
	"f1_per_class":                    ofClasses((*emission).f1),
	"fbeta_macro":                     ofClasses((*emission).f1Macro),
	"fbeta_micro":                     ofClasses((*emission).f1Micro),
	"fbeta_weighted":                  ofClasses((*emission).f1Weighted),
	"fbeta_per_class":                 ofClasses((*emission).f1),
	"iou":                             ofClasses((*emission).iou),
	"iou_per_class":                   ofClasses((*emission).iouPerClass),
	"binary_iou":                      {sums: threeOfClasses, batch: (*emission).binaryTotals, value: (*emission).iou},
	"sensitivity_at_specificity":      histogramOf((*emission).operatingPoint),
	"specificity_at_sensitivity":      histogramOf((*emission).operatingPoint),
	"precision_at_recall":             histogramOf((*emission).operatingPoint),
	"recall_at_precision":             histogramOf((*emission).operatingPoint),
	"auc":                             histogramOf((*emission).auc),
	"auc_precision_recall":            histogramOf((*emission).auc),
}

// kindOf returns the kind of a form.
func kindOf(f metrics.Form) kind {
	if f.Formula != nil {
		return kind{sums: terms, batch: (*emission).terms, value: (*emission).formula}
	}
	if k, ok := kinds[f.Name]; ok {
		return k
	}
	return histogramOf((*emission).atThresholds) // the metrics in shares
}

func two(metrics.Form) int              { return 2 }
func pairs(f metrics.Form) int          { return f.Classes * f.Classes }
func threeOfClasses(f metrics.Form) int { return 3 * f.Classes }
func fourOfOutputs(f metrics.Form) int  { return 4 * f.Outputs }
func histograms(f metrics.Form) int     { return 2 * (len(f.Thresholds) + 1) }
func terms(f metrics.Form) int          { return len(f.Formula.Terms().Results) }

func ratioOf(batch func(*emission) graph.Output) kind {
	return kind{sums: two, batch: batch, value: (*emission).mean}
}

func ofClasses(value func(*emission, graph.Output) graph.Output) kind {
	return kind{sums: threeOfClasses, batch: (*emission).classTotals, value: value}
}

func histogramOf(value func(*emission, graph.Output) graph.Output) kind {
	return kind{sums: histograms, batch: (*emission).histogram, value: value}
}

func extremeFrom(first float64) kind {
	batch := func(e *emission) graph.Output { return e.extreme(first) }
	return kind{sums: two, first: first, batch: batch, value: (*emission).extremeSeen}
}
