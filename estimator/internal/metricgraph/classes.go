package metricgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// classTotals returns hits, labels and predictions by class, concatenated.
func (e *emission) classTotals() graph.Output {
	labels, predictions := e.pair()
	w := e.weightsOf(predictions, e.shape(), 2)
	if len(e.form.Thresholds) == 0 {
		return e.totals(w, labels, predictions)
	}
	above := e.above("Greater", predictions)
	by := func(x graph.Output) graph.Output {
		return e.over("Sum", e.reshape(e.of("Mul", w, x), -1, e.form.Classes), 0)
	}
	return e.joinedTotals(by(e.of("Mul", labels, above)), by(labels), by(above))
}

// binaryTotals is classTotals for labels 0 and 1 and probabilities.
func (e *emission) binaryTotals() graph.Output {
	labels, predictions := e.pair()
	return e.totals(e.weightsOf(predictions, e.shape(), 2), labels, e.above("GreaterEqual", predictions))
}

// above returns 1 for the predictions for which the comparison with the threshold holds, else 0.
func (e *emission) above(compare string, predictions graph.Output) graph.Output {
	at := e.b.Scalar(e.scope+"threshold", tensor.Float32, float64(e.form.Thresholds[0]))
	return e.cast(e.compare(compare, e.cast(predictions, tensor.Float32), at), tensor.Float64)
}

// totals counts class ids.
func (e *emission) totals(w, labels, predictions graph.Output) graph.Output {
	hit := e.cast(e.compare("Equal", labels, predictions), tensor.Float64)
	by, own := e.cast(labels, tensor.Int64), e.cast(predictions, tensor.Int64)
	n := e.form.Classes
	return e.joinedTotals(e.counted(e.of("Mul", w, hit), by, n), e.counted(w, by, n), e.counted(w, own, n))
}

func (e *emission) joinedTotals(hits, labels, predictions graph.Output) graph.Output {
	return e.reshape(e.pack(hits, labels, predictions), 3*e.form.Classes)
}

// parts divides sums into vectors of equal size.
func (e *emission) parts(sums graph.Output, size int) func(i int) graph.Output {
	return func(i int) graph.Output { return e.slice(sums, i*size, size) }
}

// f1 gives the score of each class.
func (e *emission) f1(sums graph.Output) graph.Output {
	part := e.parts(sums, e.form.Classes)
	return e.scoreOf(part(0), part(1), part(2))
}

// scoreOf returns the F score. A beta weighs labels by its square.
func (e *emission) scoreOf(hits, labels, predictions graph.Output) graph.Output {
	if square := e.form.Beta * e.form.Beta; square != 0 {
		return e.of("DivNoNan", e.of("Mul", hits, e.scalar(1+square)), e.of("AddV2", e.of("Mul", labels, e.scalar(square)), predictions))
	}
	return e.of("DivNoNan", e.of("AddV2", hits, hits), e.of("AddV2", labels, predictions))
}

func (e *emission) f1Macro(sums graph.Output) graph.Output { return e.over("Mean", e.f1(sums), 0) }

func (e *emission) f1Micro(sums graph.Output) graph.Output {
	part := e.parts(sums, e.form.Classes)
	return e.scoreOf(e.sum(part(0)), e.sum(part(1)), e.sum(part(2)))
}

func (e *emission) f1Weighted(sums graph.Output) graph.Output {
	labels := e.parts(sums, e.form.Classes)(1)
	return e.of("DivNoNan", e.sum(e.of("Mul", e.f1(sums), labels)), e.sum(labels))
}

// unions gives intersections and unions of the target classes.
func (e *emission) unions(sums graph.Output) (hits, union graph.Output) {
	part := e.parts(sums, e.form.Classes)
	hits = e.gather(part(0), e.form.Targets)
	both := e.of("AddV2", e.gather(part(1), e.form.Targets), e.gather(part(2), e.form.Targets))
	return hits, e.of("Sub", both, hits)
}

func (e *emission) iouPerClass(sums graph.Output) graph.Output {
	hits, union := e.unions(sums)
	return e.of("DivNoNan", hits, union)
}

func (e *emission) iou(sums graph.Output) graph.Output {
	hits, union := e.unions(sums)
	valid := e.cast(e.compare("NotEqual", union, e.scalar(0)), tensor.Float64)
	return e.of("DivNoNan", e.sum(e.of("DivNoNan", hits, union)), e.sum(valid))
}

// moments returns the sums of labels, squared labels, squared errors and weights, by output.
func (e *emission) moments() graph.Output {
	labels, predictions := e.pair()
	w := e.weightsOf(predictions, e.shape(), 2)
	n := e.form.Outputs
	by := func(x graph.Output) graph.Output { return e.over("Sum", e.reshape(x, -1, n), 0) }
	weighted := e.of("Mul", w, labels)
	all := e.pack(by(weighted), by(e.of("Mul", weighted, labels)), by(e.of("Mul", w, e.squaredError(labels, predictions))), by(w))
	return e.reshape(all, 4*n)
}

// explained returns R2 from moments.
func (e *emission) explained(sums graph.Output) graph.Output {
	part := e.parts(sums, e.form.Outputs)
	mean := e.of("RealDiv", part(0), part(3))
	variance := e.of("Sub", part(1), e.of("Mul", part(0), mean))
	score := e.of("Sub", e.scalar(1), e.of("RealDiv", part(2), variance))
	infinite := e.compare("Equal", e.of("Abs", score), e.scalar(math.Inf(1)))
	return e.over("Mean", e.choose(infinite, e.scalar(0), score), 0)
}
