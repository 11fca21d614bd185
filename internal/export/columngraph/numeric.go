package columngraph

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// values adds the normalised numbers, [B, Width].
func (e *emitter) values(c *feature.Numeric) graph.Output {
	type valuesOf string
	return emitOnce(e, valuesOf(c.String()), func() graph.Output {
		e := e.at(c.Key)
		x := e.matrix(c.Key)
		if c.Read.Part != "" {
			x = e.read(x, c.Read)
		}
		x = e.cast("float32", x, tensor.Float32)
		if s := x.Shape(); s.Dims[1] != graph.Fixed(c.Width()) {
			x = e.reshape("numbers", x, graph.Shape{Dims: []graph.Dim{s.Dims[0], graph.Fixed(c.Width())}}, -1, int64(c.Width()))
		}
		if c.FillNaN {
			nan := e.op("IsNan", "missing", graph.Type{DType: tensor.Bool, Shape: x.Shape()}, graph.Attrs{"T": tensor.Float32}, x)
			x = e.selected("filled", nan, e.floats("default", spread(c.Default, 0, c.Width()), c.Width()), x)
		}
		return e.normalized(c.Normalizer, c, x, func(name string, v []float32, none float32) graph.Output {
			return e.floats(name, spread(v, none, c.Width()), c.Width())
		})
	})
}

// normalized adds the normalisation of x. each turns the values of Mean or Std into a tensor
// with one value for each number of x.
func (e *emitter) normalized(n feature.Normalizer, c feature.Column, x graph.Output, each func(name string, v []float32, none float32) graph.Output) graph.Output {
	if n.Func != nil {
		e.b.Fail(fmt.Errorf("column %q: normalizer func %q is a function of the program, which a graph cannot hold: use scale, log, mean and std", c.Name(), n.Name))
		return x
	}
	if n.Scale != 0 && n.Scale != 1 {
		x = e.divided("scaled", x, e.floats("scale", []float32{n.Scale}))
	}
	if n.Log { // in float64, like Normalizer.apply: the float32 result differs in the last bit
		wide := e.cast("wide", x, tensor.Float64)
		x = e.cast("log", e.op("Log", "wide_log", wide.Type(), graph.Attrs{"T": tensor.Float64}, wide), tensor.Float32)
	}
	if len(n.Mean) > 0 {
		x = e.binary("Sub", "centred", x, each("mean", n.Mean, 0))
	}
	if len(n.Std) > 0 {
		x = e.divided("normalized", x, each("std", n.Std, 1))
	}
	return x
}

// spread returns size values: v itself, its only value repeated, or none repeated.
func spread(v []float32, none float32, size int) []float32 {
	if len(v) == size {
		return v
	}
	if len(v) == 1 {
		none = v[0]
	}
	return slices.Repeat([]float32{none}, size)
}

// divided is x/y, exactly rounded even if an optimizer, like TensorFlow's, multiplies by the
// reciprocal of a constant. In float64 that is accurate enough: the quotient of two float32 numbers is
// never closer to the midpoint of two others than the error of the product.
func (e *emitter) divided(name string, x, y graph.Output) graph.Output {
	x, y = e.cast(name+"/wide", x, tensor.Float64), e.cast(name+"/by", y, tensor.Float64)
	return e.cast(name, e.binary("RealDiv", name+"/quotient", x, y), tensor.Float32)
}

// buckets adds the bucket of each number, int32 [B, numbers].
func (e *emitter) buckets(c *feature.Bucketized) graph.Output {
	type bucketsOf string
	return emitOnce(e, bucketsOf(c.String()), func() graph.Output {
		x := e.values(c.Of)
		return e.at(c.Name()).op("Bucketize", "bucket", graph.Type{DType: tensor.Int32, Shape: x.Shape()},
			graph.Attrs{"T": tensor.Float32, "boundaries": narrow(c.Boundaries)}, x)
	})
}

// bucketVectors adds the one-hot vectors of the buckets.
func (e *emitter) bucketVectors(c *feature.Bucketized) graph.Output {
	x := e.buckets(c)
	dims := x.Shape().Dims
	hot := e.oneHot(x, len(c.Boundaries)+1)
	return e.reshape("flat", hot, graph.Shape{Dims: []graph.Dim{dims[0], graph.Fixed(c.Width())}}, -1, int64(c.Width()))
}

// oneHot adds one-hot vectors of n numbers as a last dimension.
func (e *emitter) oneHot(ids graph.Output, n int) graph.Output {
	dims := ids.Shape().Dims
	shape := graph.Shape{Dims: append(append([]graph.Dim{}, dims...), graph.Fixed(n))}
	return e.op("OneHot", "one_hot", graph.Type{DType: tensor.Float32, Shape: shape}, graph.Attrs{"T": tensor.Float32, "TI": ids.DType(), "axis": int64(-1)},
		ids, e.ints("depth", tensor.Int32, []int64{int64(n)}), e.floats("on", []float32{1}), e.floats("off", []float32{0}))
}

// bucketized adds the ids of the buckets.
func (e *emitter) bucketized(c *feature.Bucketized) listNodes {
	return emitOnce(e, listOf{column: c}, func() listNodes {
		e := e.at(c.Name())
		x := e.cast("int64", e.buckets(c), tensor.Int64)
		first := make([]int64, c.Of.Width())
		for i := range first {
			first[i] = int64(i * (len(c.Boundaries) + 1))
		}
		if len(first) > 1 {
			x = e.binary("AddV2", "ids", x, e.ints("first", tensor.Int64, first, len(first)))
		}
		return e.places(x, e.compare("GreaterEqual", "every", x, e.scalar("zero", 0)))
	})
}

// counts adds the counts: the sum of the one-hot vectors of a row's ids.
func (e *emitter) counts(c *feature.Indicator) graph.Output {
	l := e.ids(c.Of, false).present(false)
	w := c.Width()
	places := e.op("Pack", "places", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}},
		graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(1)}, l.row(), l.values)
	counts := l.weights
	if !counts.Valid() {
		counts = e.op("OnesLike", "one_each", l.values.Type(), graph.Attrs{"T": tensor.Int64}, l.values)
		counts = e.cast("counted", counts, tensor.Float32)
	}
	to := e.op("Pack", "dims", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)}, graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(0)},
		l.rows(), e.scalar("width", int64(w)))
	sums := e.op("ScatterNd", "counts", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(w)},
		graph.Attrs{"T": tensor.Float32, "Tindices": tensor.Int64}, places, counts, to)
	if !c.MultiHot {
		return sums
	}
	return e.binary("Minimum", "multi_hot", sums, e.floats("one", []float32{1}))
}

// countSteps adds the counts of each step.
func (e *emitter) countSteps(c *feature.Indicator) Emitted {
	l := e.ids(c.Of, true)
	w := c.Width()
	return Emitted{Values: e.reshape("steps", e.oneHot(l.values, w), vector, -1),
		Offsets: e.binary("Mul", "offsets", l.offsets(), e.scalar("width", int64(w)))}
}

// narrow converts the numbers to float32.
func narrow(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// numberSteps adds whole steps. It fills an incomplete last step.
func (e *emitter) numberSteps(c *feature.SequenceNumeric) Emitted {
	l := e.numbers(c)
	l.e = e
	w := int64(c.Width())
	x := e.cast("float32", l.values, tensor.Float32)
	place := e.column("place", l.indices, 1)
	within := e.op("FloorMod", "within_step", place.Type(), graph.Attrs{"T": tensor.Int64}, place, e.scalar("step", w))
	x = e.normalized(c.Normalizer, c, x, func(name string, v []float32, none float32) graph.Output {
		if len(v) == 1 {
			return e.floats(name, v)
		}
		return e.gather(name, e.floats(name+"s", spread(v, none, int(w)), int(w)), within)
	})
	offsets := l.offsets()
	if w == 1 {
		return Emitted{Values: x, Offsets: offsets}
	}
	offsets = e.wholeSteps(offsets, w)
	total := e.strided("total", offsets, graph.ShapeOf(1), slicing{begin: []int64{-1}, end: []int64{0}, toEnd: 1})
	at := e.binary("AddV2", "at", e.gather("begin", offsets, l.row()), place)
	values := e.op("SparseToDense", "steps", graph.Type{DType: tensor.Float32, Shape: vector},
		graph.Attrs{"T": tensor.Float32, "Tindices": tensor.Int64, "validate_indices": true},
		e.expand("at_column", at, 1, graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(1)}}), total, x, e.floats("fill", []float32{c.Default}))
	return Emitted{Values: values, Offsets: offsets}
}

// numbers lists the numbers. In a dense feature, NaN at the end of a row is padding, unless
// NaN is allowed.
func (e *emitter) numbers(c *feature.SequenceNumeric) listNodes {
	x := e.raw[c.Key].Dense
	if c.AllowNaN || !x.Valid() || !x.DType().Float() {
		return e.all(c.Key)
	}
	x = e.matrix(c.Key)
	nan := e.op("IsNan", "nan", graph.Type{DType: tensor.Bool, Shape: x.Shape()}, graph.Attrs{"T": x.DType()}, x)
	return e.places(x, e.untilLast(e.op("LogicalNot", "numbers", nan.Type(), nil, nan)))
}

// wholeSteps returns the offsets of rows whose lengths are rounded up to multiples of w.
func (e *emitter) wholeSteps(offsets graph.Output, w int64) graph.Output {
	rows := graph.Shape{Dims: []graph.Dim{graph.Batch}}
	ends := e.strided("ends", offsets, rows, slicing{begin: []int64{1}, end: []int64{0}, toEnd: 1})
	begins := e.strided("begins", offsets, rows, slicing{begin: []int64{0}, end: []int64{-1}})
	step := e.scalar("step", w)
	rounding := e.binary("AddV2", "rounding", e.binary("Sub", "lengths", ends, begins), e.scalar("rest", w-1))
	lengths := e.binary("Mul", "whole_lengths", e.binary("FloorDiv", "whole_steps", rounding, step), step)
	sums := e.op("Cumsum", "whole_ends", lengths.Type(), graph.Attrs{"T": tensor.Int64, "Tidx": tensor.Int32, "exclusive": false, "reverse": false},
		lengths, e.axis("whole_ends/axis", 0))
	return e.op("ConcatV2", "whole_offsets", offsets.Type(), graph.Attrs{"N": int64(2), "T": tensor.Int64, "Tidx": tensor.Int32},
		e.ints("begin", tensor.Int64, []int64{0}, 1), sums, e.axis("whole_offsets/axis", 0))
}
