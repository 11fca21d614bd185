package kernels

import "math"

// Rule is an optimizer's update of equally long parts of its variables.
type Rule[T Float] func(p *Part[T])

// Part is what a Rule works on: all of the variables, or one row of each.
type Part[T Float] struct {
	W        [4][]T // the variable, then its slots
	G        []T
	S        [6]T // the scalar inputs in the order of the op's definition
	Nesterov bool
	Count    int // scalars
}

// ApplySGD takes the rate.
func ApplySGD[T Float](p *Part[T]) { SGD(p.W[0], p.G, p.S[0]) }

// ApplyMomentum takes lr and momentum.
func ApplyMomentum[T Float](p *Part[T]) {
	Momentum(p.W[0], p.W[1], p.G, p.S[0], p.S[1], p.Nesterov)
}

// ApplyKerasMomentum takes lr and momentum.
func ApplyKerasMomentum[T Float](p *Part[T]) {
	KerasMomentum(p.W[0], p.W[1], p.G, p.S[0], p.S[1], p.Nesterov)
}

// ApplyAdam takes beta1_power, beta2_power, lr, beta1, beta2, epsilon.
func ApplyAdam[T Float](p *Part[T]) {
	lr := p.S[2] * T(math.Sqrt(float64(1-p.S[1]))) / (1 - p.S[0])
	Adam(p.W[0], p.W[1], p.W[2], p.G, AdamParams[T]{LR: lr, Beta1: p.S[3], Beta2: p.S[4], Epsilon: p.S[5], Nesterov: p.Nesterov})
}

// ApplyAdagrad takes lr and, in V2, epsilon.
func ApplyAdagrad[T Float](p *Part[T]) {
	AdagradV2(p.W[0], p.W[1], p.G, p.S[0], p.S[1])
}

// ApplyRMSProp takes lr, rho, momentum, epsilon.
func ApplyRMSProp[T Float](p *Part[T]) {
	RMSProp(p.W[0], p.W[1], p.W[2], nil, p.G, RMSPropParams[T]{LR: p.S[0], Rho: p.S[1], Momentum: p.S[2], Epsilon: p.S[3]})
}

// ApplyCenteredRMSProp has the slots mg, ms, mom.
func ApplyCenteredRMSProp[T Float](p *Part[T]) {
	RMSProp(p.W[0], p.W[2], p.W[3], p.W[1], p.G, RMSPropParams[T]{LR: p.S[0], Rho: p.S[1], Momentum: p.S[2], Epsilon: p.S[3]})
}

// ApplyFtrl takes lr, l1, l2, l2_shrinkage in V2, lr_power.
func ApplyFtrl[T Float](p *Part[T]) {
	f := FtrlParams[T]{LR: p.S[0], L1: p.S[1], L2: p.S[2], LRPower: p.S[3]}
	if p.Count == 5 {
		f.L2Shrinkage, f.LRPower = p.S[3], p.S[4]
	}
	Ftrl(p.W[0], p.W[1], p.W[2], p.G, f)
}

// ApplyAdadelta takes lr, rho, epsilon.
func ApplyAdadelta[T Float](p *Part[T]) {
	Adadelta(p.W[0], p.W[1], p.W[2], p.G, AdadeltaParams[T]{LR: p.S[0], Rho: p.S[1], Epsilon: p.S[2]})
}

// ApplyProximalGradientDescent takes the rate, l1, l2.
func ApplyProximalGradientDescent[T Float](p *Part[T]) {
	ProximalSGD(p.W[0], p.G, ProximalParams[T]{LR: p.S[0], L1: p.S[1], L2: p.S[2]})
}

// ApplyProximalAdagrad takes lr, l1, l2.
func ApplyProximalAdagrad[T Float](p *Part[T]) {
	ProximalAdagrad(p.W[0], p.W[1], p.G, ProximalParams[T]{LR: p.S[0], L1: p.S[1], L2: p.S[2]})
}
