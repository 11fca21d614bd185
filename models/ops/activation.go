package ops

import (
	"math"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Tanh returns the hyperbolic tangent of x.
func Tanh(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Tanh", x, func(a *adjoint) *G.Node { return gradOp(a, "TanhGrad", a.out, a.grad) })
}

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Sigmoid", x, func(a *adjoint) *G.Node { return gradOp(a, "SigmoidGrad", a.out, a.grad) })
}

// Relu returns max(x, 0), with gradient 0 at 0.
func Relu(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Relu", x, func(a *adjoint) *G.Node { return gradOp(a, "ReluGrad", a.grad, a.out) })
}

// Relu6 returns min(max(x, 0), 6).
func Relu6(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Relu6", x, func(a *adjoint) *G.Node { return gradOp(a, "Relu6Grad", a.grad, a.out) })
}

// LeakyRelu returns x where it is positive, else alpha·x.
func LeakyRelu(c models.Context, x *G.Node, alpha float64) *G.Node {
	if !floats(c, "LeakyRelu", x) {
		return nil
	}
	attrs := with(typeAttr(x.Dtype()), "alpha", float32(alpha))
	return apply(c, spec{op: "LeakyRelu", attrs: attrs, outs: []kind{kindOf(x)}, grad: one(func(a *adjoint) *G.Node {
		return apply(a, spec{op: "LeakyReluGrad", attrs: attrs, outs: []kind{kindOf(a.out)}}, a.grad, a.in[0])
	})}, x)
}

// Elu returns x where it is positive, else e^x - 1.
func Elu(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Elu", x, func(a *adjoint) *G.Node { return gradOp(a, "EluGrad", a.grad, a.out) })
}

// Selu returns the scaled exponential linear unit (Klambauer et al. 2017).
func Selu(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Selu", x, func(a *adjoint) *G.Node { return gradOp(a, "SeluGrad", a.grad, a.out) })
}

// Softplus returns log(1 + e^x).
func Softplus(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Softplus", x, func(a *adjoint) *G.Node { return gradOp(a, "SoftplusGrad", a.grad, a.in[0]) })
}

// Softsign returns x/(1+|x|).
func Softsign(c models.Context, x *G.Node) *G.Node {
	return unary(c, "Softsign", x, func(a *adjoint) *G.Node { return gradOp(a, "SoftsignGrad", a.grad, a.in[0]) })
}

// Swish returns x·sigmoid(x), also called SiLU.
func Swish(c models.Context, x *G.Node) *G.Node { return Mul(c, x, Sigmoid(c, x)) }

// Gelu returns x·Φ(x), the Gaussian error linear unit (Hendrycks and Gimpel
// 2016), by the error function.
func Gelu(c models.Context, x *G.Node) *G.Node {
	cdf := Add(c, Erf(c, Mul(c, x, scalarLike(c, x, math.Sqrt2/2))), scalarLike(c, x, 1))
	return Mul(c, Mul(c, x, scalarLike(c, x, 0.5)), cdf)
}

// GeluTanh returns the tanh approximation of Gelu.
func GeluTanh(c models.Context, x *G.Node) *G.Node {
	cube := Mul(c, Mul(c, x, Square(c, x)), scalarLike(c, x, 0.044715))
	t := Tanh(c, Mul(c, Add(c, x, cube), scalarLike(c, x, math.Sqrt(2/math.Pi))))
	return Mul(c, Mul(c, x, scalarLike(c, x, 0.5)), Add(c, t, scalarLike(c, x, 1)))
}

// Mish returns x·tanh(log(1 + e^x)) (Misra 2019).
func Mish(c models.Context, x *G.Node) *G.Node { return Mul(c, x, Tanh(c, Softplus(c, x))) }

// HardSwish returns x·relu6(x+3)/6 (Howard et al. 2019).
func HardSwish(c models.Context, x *G.Node) *G.Node {
	return Mul(c, x, Mul(c, Relu6(c, Add(c, x, scalarLike(c, x, 3))), scalarLike(c, x, 1.0/6)))
}

// HardSigmoid returns 0.2·x + 0.5, limited to 0..1, as Keras of TensorFlow 2.15 has it.
func HardSigmoid(c models.Context, x *G.Node) *G.Node {
	return ClipByValue(c, Add(c, Mul(c, x, scalarLike(c, x, 0.2)), scalarLike(c, x, 0.5)), 0, 1)
}
