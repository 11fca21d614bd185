package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// runtimeOperators are in ONNX Runtime's domain: converters write them, and its optimizer makes them.
var runtimeOperators = operators{
	"Tokenizer": one(tokenizer), "Solve": one(solve), "FusedMatMul": one(fusedMatMul), "Gelu": one(gelu), "BiasGelu": one(biasGelu), "QuickGelu": one(quickGeluOf(1.702)),
	"FastGelu": one(fastGelu), "SkipLayerNormalization": as(skipNorm).but("outputs of mean and variance"),
	"QuantizeLinear": one(quantizeLinear), "DequantizeLinear": one(dequantizeLinear),
}

func solve(x *site) *value { return x.op(ops.MatrixSolve, nil, x.at(0), x.at(1)) }

// fusedMatMul is a scaled product of operands that may be transposed.
func fusedMatMul(x *site) *value {
	operand := func(i int, name, batch string) *value {
		u, rank := x.at(i), x.rank(i)
		if x.flag(batch, false) && rank > 2 {
			u = x.batchFirst(u, rank)
		}
		if !x.flag(name, false) || rank < 2 {
			return u
		}
		perm := without(rank)
		perm[rank-2], perm[rank-1] = rank-1, rank-2
		return x.transpose(u, perm)
	}
	return x.times(x.product(operand(0, "transA", "transBatchA"), operand(1, "transB", "transBatchB")), x.float("alpha", 1))
}

func biasGelu(x *site) *value { return x.erfGelu(x.each(ops.AddV2, nil, x.at(0), x.at(1))) }

// quickGeluOf is u*sigmoid(alpha*u); alpha is an attribute.
func quickGeluOf(alpha float32) func(x *site) *value {
	return func(x *site) *value {
		u := x.at(0)
		return x.each(ops.Mul, nil, u, x.each(ops.Sigmoid, nil, x.times(u, x.float("alpha", alpha))))
	}
}

// swiGLU is the first input, gated by its own sigmoid, times the second one.
func swiGLU(x *site) *value { return x.each(ops.Mul, nil, quickGeluOf(1)(x), x.at(1)) }

// fastGelu is the form with tanh, applied to a sum with the bias if there is one.
func fastGelu(x *site) *value {
	u := x.at(0)
	if x.has(1) {
		u = x.each(ops.AddV2, nil, u, x.at(1))
	}
	return x.tanhGelu(u)
}

// skipNorm normalizes a sum, with the bias as last input; the sum is the last output.
func skipNorm(x *site) []*value {
	sum := x.op(ops.AddV2, nil, x.at(0), x.at(1))
	if x.has(4) {
		sum = x.op(ops.AddV2, nil, sum, x.at(4))
	}
	for _, i := range []int{1, 2} {
		if i < len(x.n.Outputs) && x.n.Outputs[i] != "" {
			refuse("outputs of mean and variance")
		}
	}
	keep := graph.Attrs{"keep_dims": true}
	mean := x.op(ops.Mean, keep, sum, x.i32(-1))
	centered := x.op(ops.Sub, nil, sum, mean)
	variance := x.op(ops.Mean, keep, x.op(ops.Square, nil, centered), x.i32(-1))
	y := x.op(ops.Mul, nil, x.op(ops.Mul, nil, centered, x.op(ops.Rsqrt, nil, x.plus(variance, x.float("epsilon", 1e-12)))), x.at(2))
	if x.has(3) {
		y = x.op(ops.AddV2, nil, y, x.at(3))
	}
	return []*value{y, nil, nil, sum}
}
