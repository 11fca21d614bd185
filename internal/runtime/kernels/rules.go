package kernels

import "math"

// Rule is an optimizer's update of parts of equal length of its variables.
type Rule[T Float] func(p *Part[T])

// Part is the operands of a Rule: the whole variables, or one row of each.
type Part[T Float] struct {
	W        [4][]T // the variable, then its slots
	G        []T
	S        [6]T // the scalar inputs in the order of the op's definition
	Count    int  // scalars
	Nesterov bool // the attribute use_nesterov
	Frozen   bool // update_slots is false: the slots are not updated
	ByRate   bool // multiply_linear_by_lr: the slot linear includes the rate
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
	if p.Frozen {
		adagradStep(p.W[0], p.W[1], p.G, p.S[0], p.S[1])
		return
	}
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
	f := FtrlParams[T]{ByRate: p.ByRate, LR: p.S[0], L1: p.S[1], L2: p.S[2], LRPower: p.S[3]}
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

// ApplyAdaMax takes beta1_power, lr, beta1, beta2, epsilon.
func ApplyAdaMax[T Float](p *Part[T]) {
	AdaMax(p.W[0], p.W[1], p.W[2], p.G, AdaMaxParams[T]{LR: p.S[1] / (1 - p.S[0]), Beta1: p.S[2], Beta2: p.S[3], Epsilon: p.S[4]})
}

// ApplyAmsgrad takes the scalars of ApplyAdam, and has the slots m, v, vhat.
func ApplyAmsgrad[T Float](p *Part[T]) {
	lr := p.S[2] * T(math.Sqrt(float64(1-p.S[1]))) / (1 - p.S[0])
	Amsgrad(p.W, p.G, AdamParams[T]{LR: lr, Beta1: p.S[3], Beta2: p.S[4], Epsilon: p.S[5]})
}

// ApplyAdagradDA takes lr, l1, l2, global_step.
func ApplyAdagradDA[T Float](p *Part[T]) {
	AdagradDA(p.W[0], p.W[1], p.W[2], p.G, AdagradDAParams[T]{LR: p.S[0], L1: p.S[1], L2: p.S[2], Step: p.S[3]})
}

// ApplyPowerSign takes lr, logbase, sign_decay, beta.
func ApplyPowerSign[T Float](p *Part[T]) {
	base, decay := p.S[1], p.S[2]
	signStep(p, func(same T) T { return T(math.Exp(float64(base * decay * same))) })
}

// ApplyAddSign takes lr, alpha, sign_decay, beta.
func ApplyAddSign[T Float](p *Part[T]) {
	alpha, decay := p.S[1], p.S[2]
	signStep(p, func(same T) T { return alpha + decay*same })
}
