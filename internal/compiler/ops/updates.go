package ops

// Optimizers' rules. The variables come first, the trained one before its slots.
var (
	ResourceApplyAdaMax = define("ResourceApplyAdaMax(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyAdagradDA = define("ResourceApplyAdagradDA(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, grad: T, lr: T, l1: T, l2: T, global_step: int64)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyAdagradDA = define("ResourceSparseApplyAdagradDA(var: resource, grad_accum: resource, grad_squared_accum: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ResourceApplyAdamWithAmsgrad = define("ResourceApplyAdamWithAmsgrad(var: resource, m: resource, v: resource, vhat: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyPowerSign = define("ResourceApplyPowerSign(var: resource, m: resource, lr: T, logbase: T, sign_decay: T, beta: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyAddSign = define("ResourceApplyAddSign(var: resource, m: resource, lr: T, alpha: T, sign_decay: T, beta: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyAdagrad = define("ResourceApplyAdagrad(var: resource, accum: resource, lr: T, grad: T)",
		"T: numbers", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ResourceApplyAdagradV2 = define("ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ResourceApplyAdam = define("ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ResourceApplyCenteredRMSProp = define("ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyFtrl = define("ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, lr_power: T)",
		"T: numbers", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ResourceApplyFtrlV2 = define("ResourceApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T)",
		"T: numbers", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ResourceApplyGradientDescent = define("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T)", "T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyKerasMomentum   = define("ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T)",
		"T: numbers", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ResourceApplyMomentum = define("ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T)",
		"T: numbers", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ResourceApplyRMSProp = define("ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyAdagrad = define("ResourceSparseApplyAdagrad(var: resource, accum: resource, lr: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ResourceSparseApplyAdagradV2 = define("ResourceSparseApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "update_slots: bool = true").state(Writes)
	ResourceSparseApplyCenteredRMSProp = define("ResourceSparseApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyFtrl = define("ResourceSparseApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ResourceSparseApplyFtrlV2 = define("ResourceSparseApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "multiply_linear_by_lr: bool = false").state(Writes)
	ResourceSparseApplyKerasMomentum = define("ResourceSparseApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ResourceSparseApplyMomentum = define("ResourceSparseApplyMomentum(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false", "use_nesterov: bool = false").state(Writes)
	ResourceSparseApplyRMSProp = define("ResourceSparseApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ResourceApplyAdadelta = define("ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyProximalAdagrad = define("ResourceApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceApplyProximalGradientDescent = define("ResourceApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, delta: T)",
		"T: numbers", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyAdadelta = define("ResourceSparseApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyProximalAdagrad = define("ResourceSparseApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ResourceSparseApplyProximalGradientDescent = define("ResourceSparseApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, grad: T, indices: Tindices)",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
)
