package metricgraph

import (
	"errors"
	"strings"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

var (
	errPair    = errors.New("expected labels and predictions")
	errScores  = errors.New("expected class ids, and scores of shape [batch, classes]")
	errVectors = errors.New("expected vectors of known size")
	errWeights = errors.New("weights: expected one per example or a shape that broadcasts to that of predictions")
)

// histogram counts, for each label, the predictions by the number of thresholds that they exceed.
func (e *emission) histogram() graph.Output {
	labels, predictions := e.pair()
	n := len(e.form.Thresholds)
	sorted, err := tensor.FromSlice(e.form.Thresholds, 1, n)
	if err != nil {
		e.b.Fail(err)
		return predictions
	}
	at := e.b.Op("LowerBound", e.scope+"LowerBound", graph.Type{DType: tensor.Int32, Shape: graph.Shape{UnknownRank: true}},
		graph.Attrs{"T": tensor.Float32, "out_type": tensor.Int32}, e.b.Const(e.scope+"thresholds", sorted), e.reshape(e.cast(predictions, tensor.Float32), 1, -1))
	negative := e.cast(e.compare("Equal", labels, e.scalar(0)), tensor.Int32)
	shift := e.op("Mul", tensor.Int32, nil, negative, e.b.Scalar(e.scope+"negatives", tensor.Int32, float64(n+1)))
	bucket := e.op("AddV2", tensor.Int32, nil, e.reshape(at, -1), shift)
	return e.counted(e.weightsOf(predictions, e.shape(), 2), bucket, 2*(n+1))
}

// matrices has the confusion matrices at all thresholds, as vectors.
type matrices struct{ tp, fp, tn, fn graph.Output }

func (e *emission) matrices(sums graph.Output) matrices {
	n := len(e.form.Thresholds)
	cumulated := func(from int, reverse bool) graph.Output {
		return e.op("Cumsum", tensor.Float64, graph.Attrs{"Tidx": tensor.Int32, "exclusive": false, "reverse": reverse},
			e.slice(sums, from, n), e.b.Scalar(e.scope+"axis", tensor.Int32, 0))
	}
	return matrices{fn: cumulated(0, false), tp: cumulated(1, true), tn: cumulated(n+1, false), fp: cumulated(n+2, true)}
}

// shares has the ratios and counts, by the names of their metrics.
var shares = map[string]func(e *emission, c matrices) graph.Output{
	"precision":   func(e *emission, c matrices) graph.Output { return e.share(c.tp, c.fp) },
	"recall":      func(e *emission, c matrices) graph.Output { return e.share(c.tp, c.fn) },
	"sensitivity": func(e *emission, c matrices) graph.Output { return e.share(c.tp, c.fn) },
	"f1":          func(e *emission, c matrices) graph.Output { return e.harmonic(c) },
	"fbeta": func(e *emission, c matrices) graph.Output {
		return e.scoreOf(c.tp, e.of("AddV2", c.tp, c.fn), e.of("AddV2", c.tp, c.fp))
	},
	"specificity":     func(e *emission, c matrices) graph.Output { return e.share(c.tn, c.fp) },
	"true_positives":  func(_ *emission, c matrices) graph.Output { return c.tp },
	"false_positives": func(_ *emission, c matrices) graph.Output { return c.fp },
	"true_negatives":  func(_ *emission, c matrices) graph.Output { return c.tn },
	"false_negatives": func(_ *emission, c matrices) graph.Output { return c.fn },
}

// share is part / (part + rest).
func (e *emission) share(part, rest graph.Output) graph.Output {
	return e.of("DivNoNan", part, e.of("AddV2", part, rest))
}

// harmonic returns the harmonic mean of precision and recall.
func (e *emission) harmonic(c matrices) graph.Output {
	return e.share(c.tp, e.of("Mul", e.scalar(0.5), e.of("AddV2", c.fp, c.fn)))
}

func (e *emission) atThresholds(sums graph.Output) graph.Output {
	v := shares[e.form.Name](e, e.matrices(sums))
	if len(e.form.Order) == 1 {
		return e.at(v, 0)
	}
	return e.gather(v, e.form.Order)
}

func (e *emission) operatingPoint(sums graph.Output) graph.Output {
	dependent, constrained, _ := strings.Cut(e.form.Name, "_at_")
	c := e.matrices(sums)
	kept := e.compare("GreaterEqual", shares[constrained](e, c), e.scalar(e.form.Bound))
	of := shares[dependent](e, c)
	return e.over("Max", e.choose(kept, of, e.of("ZerosLike", of)), 0)
}

func (e *emission) auc(sums graph.Output) graph.Output {
	c := e.matrices(sums)
	n := len(e.form.Thresholds) - 1
	interpolated := e.form.Summation == metrics.Interpolation || e.form.Summation == metrics.CarefulInterpolation
	if e.form.Curve == metrics.PR && interpolated {
		part := func(from int) matrices {
			return matrices{tp: e.slice(c.tp, from, n), fp: e.slice(c.fp, from, n), fn: e.slice(c.fn, from, n)}
		}
		return e.sum(e.interpolatedPR(part(0), part(1)))
	}
	x, y := e.points(c)
	width := e.of("Sub", e.slice(x, 0, n), e.slice(x, 1, n))
	return e.sum(e.of("Mul", width, e.heights(e.slice(y, 0, n), e.slice(y, 1, n))))
}

// points is metrics' point, at all thresholds.
func (e *emission) points(c matrices) (x, y graph.Output) {
	if e.form.Summation == metrics.Interpolation {
		return e.share(c.fp, c.tn), e.share(c.tp, c.fn)
	}
	epsilon := e.scalar(ratioEpsilon)
	tp := e.of("AddV2", c.tp, epsilon)
	recall := e.of("RealDiv", tp, e.of("AddV2", tp, c.fn))
	if e.form.Curve == metrics.ROC {
		return e.of("RealDiv", c.fp, e.of("AddV2", e.of("AddV2", c.fp, c.tn), epsilon)), recall
	}
	return recall, e.of("RealDiv", tp, e.of("AddV2", tp, c.fp))
}

// heights is metrics' height, between all points.
func (e *emission) heights(y0, y1 graph.Output) graph.Output {
	switch e.form.Summation {
	case metrics.Minoring:
		return e.of("Minimum", y0, y1)
	case metrics.Majoring:
		return e.of("Maximum", y0, y1)
	}
	return e.of("Mul", e.of("AddV2", y0, y1), e.scalar(0.5))
}

// interpolatedPR is metrics' function of that name, on vectors.
func (e *emission) interpolatedPR(a, b matrices) graph.Output {
	zero := e.scalar(0)
	dtp := e.of("Sub", a.tp, b.tp)
	pa, pb := e.of("AddV2", a.tp, a.fp), e.of("AddV2", b.tp, b.fp)
	slope := e.of("DivNoNan", dtp, e.of("Maximum", e.of("Sub", pa, pb), zero))
	intercept := e.of("Sub", b.tp, e.of("Mul", slope, pb))
	both := e.compare("Greater", e.of("Mul", pa, pb), zero)
	ratio := e.choose(both, e.of("DivNoNan", pa, pb), e.of("OnesLike", pa))
	part := e.of("Mul", slope, e.of("AddV2", dtp, e.of("Mul", intercept, e.of("Log", ratio))))
	return e.of("DivNoNan", part, e.of("Maximum", e.of("AddV2", b.tp, b.fn), zero))
}
