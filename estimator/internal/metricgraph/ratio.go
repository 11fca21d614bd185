package metricgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// weightsOf returns a vector of the weights of x, the elements of a tensor of that shape.
// Weights are the operand after the first operands ones, broadcast as by newWeighting; without it, ones.
func (e *emission) weightsOf(x graph.Output, shape graph.Shape, operands int) graph.Output {
	ones := e.of("OnesLike", x)
	if len(e.args) <= operands {
		return ones
	}
	w := e.cast(e.args[operands], tensor.Float64)
	dims := w.Shape().Dims
	for len(dims) > 0 && dims[len(dims)-1] == graph.Fixed(1) {
		dims = dims[:len(dims)-1]
	}
	if len(dims) > shape.Rank() {
		e.b.Fail(errWeights)
		return ones
	}
	sizes := make([]int, shape.Rank())
	for i := range sizes {
		sizes[i] = 1
		if i < len(dims) {
			sizes[i] = dims[i].Const
			if !dims[i].Static() {
				sizes[i] = -1
			}
		}
	}
	like := e.op("Reshape", tensor.Float64, graph.Attrs{"Tshape": tensor.Int32}, ones, e.sizesOf(shape))
	return e.reshape(e.of("Mul", e.reshape(w, sizes...), like), -1)
}

// sizesOf returns the argument that reshapes a vector to a shape in which only the first size is unknown.
func (e *emission) sizesOf(shape graph.Shape) graph.Output {
	sizes := make([]int, shape.Rank())
	for i, d := range shape.Dims {
		sizes[i] = d.Const
		if !d.Static() {
			sizes[i] = -1
		}
	}
	return e.ints(sizes...)
}

// ratio gives the sums of a weighted mean over the elements of a tensor of that shape.
func (e *emission) ratio(values graph.Output, shape graph.Shape, operands int) graph.Output {
	w := e.weightsOf(values, shape, operands)
	return e.pack(e.sum(e.of("Mul", w, values)), e.sum(w))
}

// pair gives labels and predictions as vectors of float64.
func (e *emission) pair() (labels, predictions graph.Output) {
	if len(e.args) < 2 {
		e.b.Fail(errPair)
		return e.args[0], e.args[0]
	}
	return e.flat(e.args[0], tensor.Float64), e.flat(e.args[1], tensor.Float64)
}

// shape is the predictions' shape.
func (e *emission) shape() graph.Shape { return e.args[min(1, len(e.args)-1)].Shape() }

// mean is the mean of the sums of a ratio.
func (e *emission) mean(sums graph.Output) graph.Output {
	return e.of("DivNoNan", e.at(sums, 0), e.at(sums, 1))
}

// values gives the sums of a mean of values.
func (e *emission) values() graph.Output {
	return e.ratio(e.flat(e.args[0], tensor.Float64), e.args[0].Shape(), 1)
}

func (e *emission) accuracyBaseline(sums graph.Output) graph.Output {
	ones, all := e.at(sums, 0), e.at(sums, 1)
	return e.of("DivNoNan", e.of("Maximum", ones, e.of("Sub", all, ones)), all)
}

// equal returns the sums for the share of equal elements.
func (e *emission) equal(x, y graph.Output) graph.Output {
	return e.ratio(e.cast(e.compare("Equal", x, y), tensor.Float64), e.shape(), 2)
}

// cosine returns the sums for a mean of the cosines of vectors in the last dimension.
func (e *emission) cosine() graph.Output {
	labels, predictions := e.pair()
	dims := e.shape().Dims
	size := 1
	if last := len(dims) - 1; last > 0 {
		if !dims[last].Static() {
			e.b.Fail(errVectors)
			return labels
		}
		size, dims = dims[last].Const, dims[:last]
	}
	labels, predictions = e.reshape(labels, -1, size), e.reshape(predictions, -1, size)
	product := e.over("Sum", e.of("Mul", labels, predictions), 1)
	return e.ratio(e.of("Mul", product, e.of("Mul", e.overLength(labels), e.overLength(predictions))), graph.Shape{Dims: dims}, 2)
}

// overLength returns 1/length for each row. As in tf.math.l2_normalize, the length is bounded below.
func (e *emission) overLength(x graph.Output) graph.Output {
	square := e.over("Sum", e.of("Mul", x, x), 1)
	return e.of("Rsqrt", e.of("Maximum", square, e.scalar(1e-12)))
}

func (e *emission) accuracy() graph.Output { return e.equal(e.pair()) }

func (e *emission) binaryAccuracy() graph.Output {
	labels, predictions := e.pair()
	above := e.compare("Greater", e.cast(predictions, tensor.Float32), e.b.Scalar(e.scope+"threshold", tensor.Float32, float64(e.form.Thresholds[0])))
	return e.equal(labels, e.cast(above, tensor.Float64))
}

// meanError returns the sums for the mean of a loss of labels and predictions.
func meanError(loss func(e *emission, labels, predictions graph.Output) graph.Output) func(e *emission) graph.Output {
	return func(e *emission) graph.Output {
		labels, predictions := e.pair()
		return e.ratio(loss(e, labels, predictions), e.shape(), 2)
	}
}

func (e *emission) squaredError(labels, predictions graph.Output) graph.Output {
	return e.of("SquaredDifference", predictions, labels)
}

func (e *emission) absoluteError(labels, predictions graph.Output) graph.Output {
	return e.of("Abs", e.of("Sub", predictions, labels))
}

func (e *emission) percentageError(labels, predictions graph.Output) graph.Output {
	part := e.of("RealDiv", e.of("Sub", labels, predictions), e.of("Maximum", e.of("Abs", labels), e.scalar(clipEpsilon)))
	return e.of("Mul", e.scalar(100), e.of("Abs", part))
}

func (e *emission) expOfMean(sums graph.Output) graph.Output { return e.of("Exp", e.mean(sums)) }

func (e *emission) rootOfMean(sums graph.Output) graph.Output { return e.of("Sqrt", e.mean(sums)) }

// clip is metrics' function of that name, on nodes.
func (e *emission) clip(p graph.Output) graph.Output {
	return e.of("Minimum", e.of("Maximum", p, e.scalar(clipEpsilon)), e.scalar(1-clipEpsilon))
}

func (e *emission) binaryCrossentropy(label, prediction graph.Output) graph.Output {
	p, one, epsilon := e.clip(prediction), e.scalar(1), e.scalar(clipEpsilon)
	yes := e.of("Mul", label, e.of("Log", e.of("AddV2", p, epsilon)))
	no := e.of("Mul", e.of("Sub", one, label), e.of("Log", e.of("AddV2", e.of("Sub", one, p), epsilon)))
	return e.of("Neg", e.of("AddV2", yes, no))
}

// scored returns class ids [N], scores [N, classes], and the shape of the examples.
func (e *emission) scored(d tensor.DType) (labels, scores graph.Output, examples graph.Shape) {
	if len(e.args) < 2 || e.args[1].Shape().Rank() < 2 || !e.args[1].Shape().Dims[e.args[1].Shape().Rank()-1].Static() {
		e.b.Fail(errScores)
		return e.args[0], e.args[0], graph.Shape{}
	}
	dims := e.args[1].Shape().Dims
	last := len(dims) - 1
	return e.flat(e.args[0], tensor.Int64), e.reshape(e.cast(e.args[1], d), -1, dims[last].Const), graph.Shape{Dims: dims[:last]}
}

// crossEntropy uses the logarithms of clipped probabilities as logits, since softmax normalises them.
func (e *emission) crossEntropy() graph.Output {
	labels, scores, examples := e.scored(tensor.Float64)
	if !e.form.FromLogits {
		scores = e.of("Log", e.clip(scores))
	}
	top := e.over("Max", scores, 1)
	sum := e.over("Sum", e.of("Exp", e.of("Sub", scores, e.reshape(top, -1, 1))), 1)
	own := e.over("Sum", e.choose(e.oneHot(labels, e.args[1].Shape()), scores, e.scalar(0)), 1)
	return e.ratio(e.of("Sub", e.of("AddV2", e.of("Log", sum), top), own), examples, 2)
}

// oneHot marks the class of each example among the classes in the last of dims.
func (e *emission) oneHot(labels graph.Output, scores graph.Shape) graph.Output {
	if scores.Rank() < 1 {
		return labels
	}
	truth := func(v bool) graph.Output {
		t := tensor.New(tensor.Bool)
		tensor.Values[bool](t)[0] = v
		return e.b.Const(e.scope+"Const", t)
	}
	n := e.b.Scalar(e.scope+"classes", tensor.Int32, float64(scores.Dims[scores.Rank()-1].Const))
	return e.b.Op("OneHot", e.scope+"OneHot", graph.Type{DType: tensor.Bool, Shape: graph.Shape{UnknownRank: true}},
		graph.Attrs{"T": tensor.Bool, "TI": tensor.Int64, "axis": int64(-1)}, labels, n, truth(true), truth(false))
}

func (e *emission) topK() graph.Output {
	labels, scores, examples := e.scored(tensor.Float32)
	in := e.b.Op("InTopKV2", e.scope+"InTopKV2", graph.Type{DType: tensor.Bool, Shape: graph.Shape{UnknownRank: true}}, graph.Attrs{"T": tensor.Int64},
		scores, labels, e.b.Scalar(e.scope+"k", tensor.Int64, float64(e.form.K)))
	return e.ratio(e.cast(in, tensor.Float64), examples, 2)
}

func (e *emission) nan() graph.Output { return e.scalar(math.NaN()) }

// extreme returns the extreme of first and the values that have a weight, and 0 if there are such values.
func (e *emission) extreme(first float64) graph.Output {
	values := e.flat(e.args[0], tensor.Float64)
	counts := e.compare("NotEqual", e.weightsOf(values, e.args[0].Shape(), 1), e.scalar(0))
	op, none := "Max", e.scalar(first)
	if first > 0 {
		op = "Min"
	}
	nan := e.b.Op("LogicalAnd", e.scope+"LogicalAnd", graph.Type{DType: tensor.Bool, Shape: graph.Shape{UnknownRank: true}}, nil, counts, e.op("IsNan", tensor.Bool, nil, values))
	most := e.choose(e.over("Any", nan, 0), e.nan(), e.over(op, e.choose(counts, values, none), 0))
	seen := e.over(op, e.choose(counts, e.of("ZerosLike", values), none), 0)
	return e.pack(most, seen)
}

func (e *emission) extremeSeen(sums graph.Output) graph.Output {
	seen := e.compare("Equal", e.at(sums, 1), e.scalar(0))
	return e.choose(seen, e.at(sums, 0), e.nan())
}

func (e *emission) classCounts() graph.Output {
	labels, predictions := e.pair()
	pairs := e.cast(e.of("AddV2", e.of("Mul", labels, e.scalar(float64(e.form.Classes))), predictions), tensor.Int64)
	return e.counted(e.weightsOf(predictions, e.shape(), 2), pairs, e.form.Classes*e.form.Classes)
}

// counted sums weights by bucket.
func (e *emission) counted(weights, buckets graph.Output, n int) graph.Output {
	return e.b.Op("UnsortedSegmentSum", e.scope+"UnsortedSegmentSum", e.floats(n), graph.Attrs{"T": tensor.Float64, "Tindices": buckets.DType(), "Tnumsegments": tensor.Int32},
		weights, buckets, e.b.Scalar(e.scope+"n", tensor.Int32, float64(n)))
}

func (e *emission) confusionMatrix(sums graph.Output) graph.Output {
	return e.reshape(sums, e.form.Classes, e.form.Classes)
}

func (e *emission) meanIoU(sums graph.Output) graph.Output {
	matrix := e.confusionMatrix(sums)
	diagonal := make([]int, e.form.Classes)
	for i := range diagonal {
		diagonal[i] = i * (e.form.Classes + 1)
	}
	hits := e.gather(sums, diagonal)
	union := e.of("Sub", e.of("AddV2", e.over("Sum", matrix, 1), e.over("Sum", matrix, 0)), hits)
	valid := e.cast(e.compare("NotEqual", union, e.scalar(0)), tensor.Float64)
	return e.of("DivNoNan", e.sum(e.of("DivNoNan", hits, union)), e.sum(valid))
}
