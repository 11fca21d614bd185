package optimizers

// Spec names an update rule, its hyper-parameters, and how gradients are processed before the rule. A hyper-parameter
// that is left out has the rule's default. A hyper-parameter that the rule does not have is an error.
type Spec struct {
	// The update rule. As in TensorFlow 1: sgd, momentum, adam, adamw, adagrad, rmsprop, ftrl. As in Keras: amsgrad, adamax, nadam, adadelta, lion, and keras_ followed by sgd, adam, adamw, adagrad, rmsprop or ftrl. As in TensorFlow Addons: lamb.
	Name string `yaml:"name"`
	// The learning rate: a number, or a map that describes a schedule.
	LearningRate LearningRateSpec `yaml:"learning_rate"`
	// Momentum of momentum, keras_sgd, rmsprop and keras_rmsprop. Default: 0.9 for momentum, 0 for the others.
	Momentum *float64 `yaml:"momentum,omitempty"`
	// Use Nesterov momentum. For momentum and keras_sgd.
	Nesterov bool `yaml:"nesterov,omitempty"`
	// Decay of the first moment. For adam, adamw, keras_adam, keras_adamw, amsgrad, adamax, nadam, lamb and lion. Default: 0.9.
	Beta1 *float64 `yaml:"beta1,omitempty"`
	// Decay of the second moment. For the same rules as beta1. Default: 0.99 for lion, 0.999 for the others.
	Beta2 *float64 `yaml:"beta2,omitempty"`
	// Decay of the mean square. For rmsprop, keras_rmsprop and adadelta. Default: 0.95 for adadelta, 0.9 for the others.
	Rho *float64 `yaml:"rho,omitempty"`
	// Use the gradient's variance instead of its mean square. For rmsprop and keras_rmsprop.
	Centered bool `yaml:"centered,omitempty"`
	// Small constant in the denominator. Default: 1e-8 for adam and adamw, 1e-10 for rmsprop, 1e-6 for lamb, 1e-7 for the others.
	Epsilon *float64 `yaml:"epsilon,omitempty"`
	// Initial value of the accumulators. For adagrad and ftrl, with keras_ too. Default: 0.1.
	InitialAccumulatorValue *float64 `yaml:"initial_accumulator_value,omitempty"`
	// ftrl, keras_ftrl: power of the learning rate, at most 0. Default: -0.5. Its environment variable is GOESTIMATOR_OPTIMIZER_LR_POWER, because GOESTIMATOR_OPTIMIZER_LEARNING_RATE_POWER sets learning_rate.power.
	LearningRatePower *float64 `yaml:"lr_power,omitempty" alias:"learning_rate_power"`
	// ftrl, keras_ftrl: strength of L1 regularization. Default: 0.
	L1 *float64 `yaml:"l1,omitempty" alias:"l1_regularization_strength"`
	// ftrl, keras_ftrl: strength of L2 regularization. Default: 0.
	L2 *float64 `yaml:"l2,omitempty" alias:"l2_regularization_strength"`
	// ftrl, keras_ftrl: strength of a penalty on magnitudes that is added to the gradient. For embeddings it affects only the rows of a batch. Default: 0.
	L2Shrinkage *float64 `yaml:"l2_shrinkage,omitempty" alias:"l2_shrinkage_regularization_strength"`
	// ftrl, keras_ftrl: beta of the learning rates (McMahan et al. 2013). Default: 0.
	Beta *float64 `yaml:"beta,omitempty"`
	// Decoupled weight decay, multiplied by the learning rate. Every rule has it; lamb makes it part of the step that it scales. Default: 0.01 for adamw, 0.004 for keras_adamw, 0 for the others.
	WeightDecay *float64 `yaml:"weight_decay,omitempty"`
	// Regular expression for the names of variables without weight decay, for example bias|norm. Empty: all variables have it.
	WeightDecayExclude string `yaml:"weight_decay_exclude,omitempty"`
	// Largest L2 norm of the gradient of each variable. A partitioned variable counts as a whole. 0: no limit. Set at most one of clip_norm, clip_value and global_clip_norm.
	ClipNorm float64 `yaml:"clip_norm,omitempty"`
	// Largest absolute value of each element of a gradient. 0: no limit.
	ClipValue float64 `yaml:"clip_value,omitempty"`
	// Largest L2 norm of all gradients together. 0: no limit.
	GlobalClipNorm float64 `yaml:"global_clip_norm,omitempty"`
	// Number of batches per update. The update uses the mean of their gradients.
	AccumulateSteps int `yaml:"accumulate_steps"`
	// Factor by which the loss is multiplied while gradients are computed: none, a number, or dynamic. dynamic starts at 32768 and doubles after 2000 consecutive updates with finite gradients. If a gradient is not finite, the update is skipped and the factor is halved.
	LossScale string `yaml:"loss_scale"`
	// Skip updates whose gradients or loss are NaN or infinite, up to this many in a row; more end training as a NaN loss does. A skipped update changes only the global step. 0: skip none. Not for parameter servers.
	SkipNonFinite int `yaml:"skip_nonfinite,omitempty"`
	// Averages of the weights, which evaluation, prediction and exports use (see model.averages).
	Averaging AveragingSpec `yaml:"averaging,omitempty"`
	// How slots are named in checkpoints: v1 or keras.
	SlotNames string `yaml:"slot_names"`
}

// DefaultSpec returns the spec that an empty section of a config file gives.
func DefaultSpec() Spec {
	return Spec{
		Name:            "adam",
		LearningRate:    LearningRateSpec{Schedule: "constant", Initial: 0.001},
		AccumulateSteps: 1,
		LossScale:       "none",
		Averaging:       AveragingSpec{Kind: noAveraging},
		SlotNames:       string(V1Names),
	}
}

// AveragingSpec says which averages of the weights training computes and stores in checkpoints. Updates are counted from
// 0. With accumulate_steps, a window of batches is one update.
type AveragingSpec struct {
	// none. ema: the exponential moving average (use_ema of Keras' optimizers). swa: the mean of the weights after some updates (stochastic weight averaging, Izmailov et al. 2018).
	Kind string `yaml:"kind"`
	// ema: weight of the old average. Default: 0.99.
	Decay *float64 `yaml:"decay,omitempty"`
	// ema: limit the n-th decay to (1+n)/(10+n), as num_updates of tf.train.ExponentialMovingAverage does.
	Rising bool `yaml:"rising,omitempty"`
	// First update whose result is averaged. Before it, the average is the weight itself.
	Start int64 `yaml:"start,omitempty"`
	// Number of updates from one averaged result to the next. 0: 1.
	Every int64 `yaml:"every,omitempty"`
}

// parameters are the values that are set, by the names that NewAveraging knows.
func (a AveragingSpec) parameters() map[string]any {
	p := map[string]any{"kind": a.Kind}
	if a.Decay != nil {
		p["decay"] = *a.Decay
	}
	put(p, "rising", a.Rising)
	put(p, "start", int(a.Start))
	put(p, "every", int(a.Every))
	return p
}

// LearningRateSpec is a schedule of the learning rate. In a file it is a number, for a constant rate, or a map. Each
// schedule means what the class of the same name means in tf.compat.v1.train and tf.keras.optimizers.schedules.
type LearningRateSpec struct {
	// The schedule: constant, exponential, inverse_time, natural_exp, polynomial, piecewise_constant, cosine, cosine_restarts, noam, one_cycle, plateau, sequence or product.
	Schedule string `yaml:"schedule"`
	// Learning rate at step 0, or after the warm-up if there is one. noam: the factor; 1 if it is left out. one_cycle: the highest rate.
	Initial float64 `yaml:"initial"`
	// Number of steps in a decay period. noam: number of steps in which the rate rises. one_cycle: number of steps in the cycle. Required for all schedules except constant, piecewise_constant, plateau, sequence and product.
	DecaySteps int64 `yaml:"decay_steps,omitempty"`
	// exponential, inverse_time, natural_exp: decay rate per period.
	DecayRate float64 `yaml:"decay_rate,omitempty"`
	// exponential, inverse_time, natural_exp: decay only in whole periods.
	Staircase bool `yaml:"staircase,omitempty"`
	// polynomial: the last learning rate. Default: 0.
	End float64 `yaml:"end,omitempty"`
	// polynomial: the power. 0: 1, a straight line.
	Power float64 `yaml:"power,omitempty"`
	// polynomial: start again, over a longer period, when the end is reached.
	Cycle bool `yaml:"cycle,omitempty"`
	// cosine, cosine_restarts: the last learning rate as a fraction of initial.
	Alpha float64 `yaml:"alpha,omitempty"`
	// cosine_restarts: factor on the period at each restart. 0: 2.
	TMul float64 `yaml:"t_mul,omitempty"`
	// cosine_restarts: factor on the initial learning rate at each restart. 0: 1.
	MMul float64 `yaml:"m_mul,omitempty"`
	// noam: width of the model (Vaswani et al. 2017).
	ModelSize int64 `yaml:"model_size,omitempty"`
	// one_cycle: fraction of the steps in which the rate rises. 0: 0.3.
	PctStart float64 `yaml:"pct_start,omitempty"`
	// one_cycle: the highest rate divided by the first. 0: 25.
	DivFactor float64 `yaml:"div_factor,omitempty"`
	// one_cycle: the first rate divided by the last. 0: 10000.
	FinalDivFactor float64 `yaml:"final_div_factor,omitempty"`
	// plateau: the metric of evaluations to watch. Default: loss. Training must run in one process.
	Metric string `yaml:"metric,omitempty"`
	// plateau: whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// plateau: factor on the rate when the metric stops improving. 0: 0.1.
	Factor float64 `yaml:"factor,omitempty"`
	// plateau: number of evaluations without improvement before the rate is reduced. 0: 10.
	Patience int `yaml:"patience,omitempty"`
	// plateau: least change of the metric that counts as an improvement. 0: 0.0001.
	MinDelta float64 `yaml:"min_delta,omitempty"`
	// plateau: number of evaluations after a reduction that do not count.
	Cooldown int `yaml:"cooldown,omitempty"`
	// plateau: the lowest rate.
	MinLR float64 `yaml:"min_lr,omitempty"`
	// piecewise_constant: ascending steps at which the rate changes.
	Boundaries []int64 `yaml:"boundaries,omitempty"`
	// piecewise_constant: the rates, one more than boundaries.
	Values []float64 `yaml:"values,omitempty"`
	// sequence: schedules that follow one another. product: schedules that are multiplied. Each part is a number, or a map with the keys of this table, including parts. In a sequence, each part starts at its own step 0, and all parts but the last have the further key steps, the number of steps that they last.
	Parts []any `yaml:"parts,omitempty"`
	// Number of steps of a linear warm-up from 0 to initial, before any schedule. The schedule's own step 0 is the end of the warm-up.
	WarmupSteps int64 `yaml:"warmup_steps,omitempty"`
}

// MarshalYAML writes a plain constant as a number.
func (l LearningRateSpec) MarshalYAML() (any, error) {
	if l.Schedule == "constant" && l.WarmupSteps == 0 {
		return l.Initial, nil
	}
	type plain LearningRateSpec
	return plain(l), nil
}

// Complete drops what a constant does not have, so that a number laid over a
// schedule of a lower layer replaces all of it.
func (l *LearningRateSpec) Complete() {
	if l.Schedule == "constant" {
		*l = LearningRateSpec{Schedule: l.Schedule, Initial: l.Initial, WarmupSteps: l.WarmupSteps}
	}
}

// DefaultInitial returns the value of Initial if none is set.
func (l LearningRateSpec) DefaultInitial() float64 {
	if l.Schedule == "noam" {
		return 1
	}
	return DefaultSpec().LearningRate.Initial
}
