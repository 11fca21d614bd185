package ops

// Gradients of functions of one element, from the gradient of the result.
var (
	EluGrad        = define("EluGrad(gradients: T, outputs: T) -> backprops: T", "T: floats").precision(Follows).cuda("elu_grad(%1, %2)", "f")
	InvGrad        = define("InvGrad(y: T, dy: T) -> z: T", "T: inexact").cuda("reciprocal_grad(%2, %1)", "f")
	LeakyReluGrad  = define("LeakyReluGrad(gradients: T, features: T) -> backprops: T", "alpha: float = 0.200000003", "T: floats = float32").precision(Follows).cuda("leaky_relu_grad(%1, %2, %a)", "f")
	ReciprocalGrad = define("ReciprocalGrad(y: T, dy: T) -> z: T", "T: inexact").cuda("reciprocal_grad(%2, %1)", "f")
	Relu6Grad      = define("Relu6Grad(gradients: T, features: T) -> backprops: T", "T: reals").precision(Follows).cuda("relu6_grad(%1, %2)", "f")
	ReluGrad       = define("ReluGrad(gradients: T, features: T) -> backprops: T", "T: reals").precision(Follows).cuda("relu_grad(%1, %2)", "f")
	RsqrtGrad      = define("RsqrtGrad(y: T, dy: T) -> z: T", "T: inexact").cuda("rsqrt_grad(%2, %1)", "f")
	SeluGrad       = define("SeluGrad(gradients: T, outputs: T) -> backprops: T", "T: floats").precision(Follows).cuda("selu_grad(%1, %2)", "f")
	SigmoidGrad    = define("SigmoidGrad(y: T, dy: T) -> z: T", "T: inexact").precision(Follows).cuda("sigmoid_grad(%2, %1)", "f")
	SoftplusGrad   = define("SoftplusGrad(gradients: T, features: T) -> backprops: T", "T: floats").cuda("softplus_grad(%1, %2)", "f")
	SoftsignGrad   = define("SoftsignGrad(gradients: T, features: T) -> backprops: T", "T: floats").cuda("softsign_grad(%1, %2)", "f")
	SqrtGrad       = define("SqrtGrad(y: T, dy: T) -> z: T", "T: inexact").cuda("sqrt_grad(%2, %1)", "f")
	TanhGrad       = define("TanhGrad(y: T, dy: T) -> z: T", "T: inexact").precision(Follows).cuda("tanh_grad(%2, %1)", "f")
)
