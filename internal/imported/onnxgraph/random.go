package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// randomOperators draw numbers with TensorFlow's generator: they differ from ONNX Runtime's.
var randomOperators = operators{
	"RandomNormal": one(randomNormal), "RandomNormalLike": one(randomNormal), "RandomUniform": one(randomUniform), "RandomUniformLike": one(randomUniform),
	"Bernoulli": one(bernoulli), "Multinomial": one(multinomial), "Dropout": as(dropout),
}

// seeds returns the attributes of a random op. A node without a seed draws other numbers in each process.
func (x *site) seeds() graph.Attrs {
	seed, ok := x.attr("seed").(float32)
	if !ok {
		return graph.Attrs{}
	}
	return graph.Attrs{"seed": int64(math.Float32bits(seed)), "seed2": int64(1)} // two zeros would mean no seed
}

// drawn returns random float32 or float64 numbers, and the type to convert them to: dtype's or input 0's.
func (x *site) drawn(op *ops.Def) (*value, tensor.DType) {
	to := tensor.Float32
	var shape *value
	if len(x.in) == 0 {
		shape = x.ints(x.intList("shape", nil)...)
	} else {
		shape = x.shape(x.at(0))
		to = x.at(0).dtype
	}
	to = x.dtype("dtype", to)
	if !to.Float() {
		refuse("dtype %v: expected floats", to)
	}
	attrs := x.seeds()
	attrs["dtype"] = sampled(to)
	return x.op(op, attrs, shape), to
}

// spread returns offset + u*scale.
func (x *site) spread(u *value, scale, offset float64) *value {
	return x.op(ops.AddV2, nil, x.times(u, scale), x.scalar(u.dtype, offset))
}

func randomNormal(x *site) *value {
	u, to := x.drawn(ops.RandomStandardNormal)
	return x.cast(x.spread(u, x.float("scale", 1), x.float("mean", 0)), to)
}

func randomUniform(x *site) *value {
	u, to := x.drawn(ops.RandomUniform)
	low := x.float("low", 0)
	return x.cast(x.spread(u, x.float("high", 1)-low, low), to)
}

// bernoulli is 1 with the probability given by input 0.
func bernoulli(x *site) *value {
	p := x.at(0)
	d := sampled(p.dtype)
	attrs := x.seeds()
	attrs["dtype"] = d
	u := x.op(ops.RandomUniform, attrs, x.shape(p))
	return x.cast(x.op(ops.Less, nil, u, x.cast(p, d)), x.dtype("dtype", p.dtype))
}

// multinomial draws classes for each row of log probabilities.
func multinomial(x *site) *value {
	u := x.at(0)
	attrs := x.seeds()
	attrs["output_dtype"] = tensor.Int64
	y := x.op(ops.Multinomial, attrs, x.cast(u, sampled(u.dtype)), x.i32(x.int("sample_size", 1)))
	return x.cast(y, x.dtype("dtype", tensor.Int32))
}

// dropout passes its input on, unless it is in training mode: then it drops elements by the ratio, and scales the others up. The second
// output says which elements stay.
func dropout(x *site) []*value {
	u := x.at(0)
	x.attr("ratio")
	seed, seeded := x.attr("seed").(int)
	training := optional(x, 2)
	if mode, known := constantOf(training); training == nil || known && mode == 0 {
		if len(x.n.Outputs) < 2 || x.n.Outputs[1] == "" {
			return []*value{u}
		}
		return []*value{u, x.op(ops.Fill, nil, x.shape(u), constant(tensor.Scalar(true)))}
	}
	d := sampled(u.dtype)
	attrs := graph.Attrs{"dtype": d}
	if seeded {
		attrs["seed"], attrs["seed2"] = int64(seed), int64(1) // two zeros would mean no seed
	}
	training = x.op(ops.Reshape, nil, training, x.ints())
	ratio := x.scalar(d, 0.5)
	if x.has(1) {
		ratio = x.cast(x.op(ops.Reshape, nil, x.at(1), x.ints()), d)
	}
	ratio = x.op(ops.SelectV2, nil, training, ratio, x.scalar(d, 0))
	stays := x.op(ops.GreaterEqual, nil, x.op(ops.RandomUniform, attrs, x.shape(u)), ratio)
	scale := x.op(ops.RealDiv, nil, x.scalar(d, 1), x.op(ops.Sub, nil, x.scalar(d, 1), ratio))
	y := x.op(ops.Mul, nil, x.cast(u, d), x.op(ops.Mul, nil, x.cast(stays, d), scale))
	return []*value{x.cast(y, u.dtype), stays}
}
