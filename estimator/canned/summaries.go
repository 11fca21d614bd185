package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// summarizeLayer adds summaries of a layer's output, named by its scope.
func summarizeLayer(mc *estimator.ModelContext, scope string, x *G.Node) {
	if mc.Failed() || !mc.Training() {
		return
	}
	mc.Summarize(models.ScalarSummary, scope+"/fraction_of_zero_values", ops.Mean(mc, zeros(mc, x)))
	mc.Summarize(models.HistogramSummary, scope+"/activation", x)
}

// zerosOf returns the fraction of the variables' elements that is zero.
func zerosOf(mc *estimator.ModelContext, vars []*models.Variable) *G.Node {
	var sum *G.Node
	total := 0
	for _, v := range vars {
		n := ops.Sum(mc, zeros(mc, v.Node))
		if sum == nil {
			sum = n
		} else {
			sum = ops.Add(mc, sum, n)
		}
		total += tensor.NumElements(v.Shape)
	}
	return ops.Div(mc, sum, ops.Scalar(mc, tensor.Float32, float64(total)))
}

// zeros is 1 where x is zero, else 0.
func zeros(mc *estimator.ModelContext, x *G.Node) *G.Node {
	return ops.Cast(mc, ops.Equal(mc, x, ops.ZerosLike(mc, x)), tensor.Float32)
}
