package ops

// Optimizers' rules on reference variables: see updates.go.
var (
	ApplyAdaMax = define("ApplyAdaMax(var: &T, m: &T, v: &T, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyAdagradDA = define("ApplyAdagradDA(var: &T, gradient_accumulator: &T, gradient_squared_accumulator: &T, grad: T, lr: T, l1: T, l2: T, global_step: int64) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	SparseApplyAdagradDA = define("SparseApplyAdagradDA(var: &T, gradient_accumulator: &T, gradient_squared_accumulator: &T, grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ApplyPowerSign = define("ApplyPowerSign(var: &T, m: &T, lr: T, logbase: T, sign_decay: T, beta: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyAddSign = define("ApplyAddSign(var: &T, m: &T, lr: T, alpha: T, sign_decay: T, beta: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyAdadelta = define("ApplyAdadelta(var: &T, accum: &T, accum_update: &T, lr: T, rho: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyAdagrad = define("ApplyAdagrad(var: &T, accum: &T, lr: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ApplyAdagradV2 = define("ApplyAdagradV2(var: &T, accum: &T, lr: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ApplyAdam = define("ApplyAdam(var: &T, m: &T, v: &T, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ApplyCenteredRMSProp = define("ApplyCenteredRMSProp(var: &T, mg: &T, ms: &T, mom: &T, lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyFtrl = define("ApplyFtrl(var: &T, accum: &T, linear: &T, grad: T, lr: T, l1: T, l2: T, lr_power: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ApplyFtrlV2 = define("ApplyFtrlV2(var: &T, accum: &T, linear: &T, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ApplyGradientDescent = define("ApplyGradientDescent(var: &T, alpha: T, delta: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyMomentum = define("ApplyMomentum(var: &T, accum: &T, lr: T, grad: T, momentum: T) -> out: &T",
		"T: numbers", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ApplyProximalAdagrad = define("ApplyProximalAdagrad(var: &T, accum: &T, lr: T, l1: T, l2: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyProximalGradientDescent = define("ApplyProximalGradientDescent(var: &T, alpha: T, l1: T, l2: T, delta: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ApplyRMSProp = define("ApplyRMSProp(var: &T, ms: &T, mom: &T, lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> out: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	SparseApplyAdadelta = define("SparseApplyAdadelta(var: &T, accum: &T, accum_update: &T, lr: T, rho: T, epsilon: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	SparseApplyAdagrad = define("SparseApplyAdagrad(var: &T, accum: &T, lr: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	SparseApplyAdagradV2 = define("SparseApplyAdagradV2(var: &T, accum: &T, lr: T, epsilon: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	SparseApplyCenteredRMSProp = define("SparseApplyCenteredRMSProp(var: &T, mg: &T, ms: &T, mom: &T, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	SparseApplyFtrl = define("SparseApplyFtrl(var: &T, accum: &T, linear: &T, grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	SparseApplyFtrlV2 = define("SparseApplyFtrlV2(var: &T, accum: &T, linear: &T, grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	SparseApplyMomentum = define("SparseApplyMomentum(var: &T, accum: &T, lr: T, grad: T, indices: Tindices, momentum: T) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	SparseApplyProximalAdagrad = define("SparseApplyProximalAdagrad(var: &T, accum: &T, lr: T, l1: T, l2: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	SparseApplyProximalGradientDescent = define("SparseApplyProximalGradientDescent(var: &T, alpha: T, l1: T, l2: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	SparseApplyRMSProp = define("SparseApplyRMSProp(var: &T, ms: &T, mom: &T, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> out: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
)
