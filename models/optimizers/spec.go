package optimizers

// Spec names an update rule, its hyper-parameters and what happens to the
// gradients before it. A hyper-parameter that is left out takes the rule's own
// default; one that the rule does not have is an error.
type Spec struct {
	// The rule: sgd, momentum, adam, adamw, adagrad, rmsprop, ftrl (TensorFlow 1 definitions), amsgrad, adamax, nadam, adadelta, lion (Keras' definitions), lamb, or keras_ followed by sgd, adam, adamw, adagrad, rmsprop, ftrl.
	Name string `yaml:"name"`
	// Step size: a number, or a map with the keys below it.
	LearningRate LearningRateSpec `yaml:"learning_rate"`
	// Momentum of momentum, keras_sgd, rmsprop, keras_rmsprop. Default 0.9 for momentum, else 0.
	Momentum *float64 `yaml:"momentum,omitempty"`
	// Nesterov's form of momentum, for momentum and keras_sgd.
	Nesterov bool `yaml:"nesterov,omitempty"`
	// Decay of the first moment of adam, adamw, amsgrad, adamax, nadam, lamb, lion. Default 0.9.
	Beta1 *float64 `yaml:"beta1,omitempty"`
	// Decay of the second moment of the same. Default 0.999; 0.99 for lion.
	Beta2 *float64 `yaml:"beta2,omitempty"`
	// Decay of the mean square of rmsprop and adadelta. Default 0.9; 0.95 for adadelta.
	Rho *float64 `yaml:"rho,omitempty"`
	// Centered form of rmsprop: the gradient's variance instead of its square.
	Centered bool `yaml:"centered,omitempty"`
	// Small constant of the denominator. Default 1e-8 for adam and adamw, 1e-10 for rmsprop, 1e-6 for lamb, 1e-7 for the others.
	Epsilon *float64 `yaml:"epsilon,omitempty"`
	// First value of the accumulators of adagrad and ftrl. Default 0.1.
	InitialAccumulatorValue *float64 `yaml:"initial_accumulator_value,omitempty"`
	// Power of ftrl's learning rate, at most 0. Default -0.5. Its variable is GOESTIMATOR_OPTIMIZER_LR_POWER,
	// since GOESTIMATOR_OPTIMIZER_LEARNING_RATE_POWER belongs to learning_rate.power.
	LearningRatePower *float64 `yaml:"lr_power,omitempty" alias:"learning_rate_power"`
	// L1 regularization strength of ftrl. Default 0.
	L1 *float64 `yaml:"l1,omitempty" alias:"l1_regularization_strength"`
	// L2 regularization strength of ftrl. Default 0.
	L2 *float64 `yaml:"l2,omitempty" alias:"l2_regularization_strength"`
	// Shrinkage of ftrl: a penalty on magnitudes that is added to the gradient; of embeddings on the rows of a batch alone. Default 0.
	L2Shrinkage *float64 `yaml:"l2_shrinkage,omitempty" alias:"l2_shrinkage_regularization_strength"`
	// Beta of ftrl's learning rates (McMahan et al. 2013). Default 0.
	Beta *float64 `yaml:"beta,omitempty"`
	// Decoupled weight decay, multiplied by the learning rate. Default 0.01 for adamw, 0.004 for keras_adamw, else 0. Every rule has it; lamb takes it into its step.
	WeightDecay *float64 `yaml:"weight_decay,omitempty"`
	// Regular expression of the variables without weight decay, for example bias|norm. Empty: all
	// variables have it.
	WeightDecayExclude string `yaml:"weight_decay_exclude,omitempty"`
	// Largest L2 norm of the gradient of each variable, whole even where it is partitioned. 0: no limit. At most one of the three clips.
	ClipNorm float64 `yaml:"clip_norm,omitempty"`
	// Largest absolute value of a gradient's element. 0: no limit.
	ClipValue float64 `yaml:"clip_value,omitempty"`
	// Largest L2 norm of all gradients together. 0: no limit.
	GlobalClipNorm float64 `yaml:"global_clip_norm,omitempty"`
	// Number of batches whose mean gradient makes one update.
	AccumulateSteps int `yaml:"accumulate_steps"`
	// Factor on the loss while it is differentiated: none, a number, or dynamic - 32768 at first, doubled after 2000 updates with finite gradients, halved, with the update left out, where some are not.
	LossScale string `yaml:"loss_scale"`
	// Leave out updates whose gradients or loss are NaN or infinite, up to this many in a row; more end training as a NaN loss does. Nothing but the
	// global step changes in such a step. 0: none is left out. Not for parameter servers.
	SkipNonFinite int `yaml:"skip_nonfinite,omitempty"`
	// Averages of the weights, with which evaluation, prediction and exports are made (model.averages).
	Averaging AveragingSpec `yaml:"averaging,omitempty"`
	// Names of the slots in checkpoints: v1 or keras.
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

// AveragingSpec says which averages of the weights training keeps in its checkpoints. Updates are counted from 0; with
// accumulate_steps a window of batches is one.
type AveragingSpec struct {
	// none; ema, the exponential moving average (use_ema of Keras' optimizers); swa, the mean of the weights at some updates (Izmailov et al. 2018).
	Kind string `yaml:"kind"`
	// ema: the weight of the old average. Default 0.99.
	Decay *float64 `yaml:"decay,omitempty"`
	// ema: the n-th decay is at most (1+n)/(10+n), as with num_updates of tf.train.ExponentialMovingAverage.
	Rising bool `yaml:"rising,omitempty"`
	// The first update whose result counts. Before it the average is the weight itself.
	Start int64 `yaml:"start,omitempty"`
	// Updates from one result that counts to the next. 0: 1.
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

// LearningRateSpec is a schedule of the step size. In a file it is a number (a
// constant) or a map. Each schedule means what the class of the same name means in
// tf.compat.v1.train and tf.keras.optimizers.schedules.
type LearningRateSpec struct {
	// One of constant, exponential, inverse_time, natural_exp, polynomial, piecewise_constant, cosine, cosine_restarts, noam, one_cycle, plateau, sequence, product.
	Schedule string `yaml:"schedule"`
	// Learning rate at step 0 (after the warm-up, where there is one). noam: the factor, 1 where it is left out. one_cycle: the highest rate.
	Initial float64 `yaml:"initial"`
	// Steps of one decay period, of growth for noam, of the cycle for one_cycle. Needed by all but constant, piecewise_constant, plateau, sequence and product.
	DecaySteps int64 `yaml:"decay_steps,omitempty"`
	// Factor per period of exponential, inverse_time and natural_exp.
	DecayRate float64 `yaml:"decay_rate,omitempty"`
	// Decay in whole periods only.
	Staircase bool `yaml:"staircase,omitempty"`
	// Last learning rate of polynomial. Default 0.
	End float64 `yaml:"end,omitempty"`
	// Power of polynomial. 0: 1, a straight line.
	Power float64 `yaml:"power,omitempty"`
	// Start polynomial again, over a longer period, when its end is reached.
	Cycle bool `yaml:"cycle,omitempty"`
	// Last learning rate of cosine and cosine_restarts as a fraction of the initial one.
	Alpha float64 `yaml:"alpha,omitempty"`
	// cosine_restarts: growth of the period at each restart. 0: 2.
	TMul float64 `yaml:"t_mul,omitempty"`
	// cosine_restarts: factor on the initial learning rate at each restart. 0: 1.
	MMul float64 `yaml:"m_mul,omitempty"`
	// noam: width of the model (Vaswani et al. 2017).
	ModelSize int64 `yaml:"model_size,omitempty"`
	// one_cycle: share of the steps in which the rate grows. 0: 0.3.
	PctStart float64 `yaml:"pct_start,omitempty"`
	// one_cycle: the highest rate divided by the first. 0: 25.
	DivFactor float64 `yaml:"div_factor,omitempty"`
	// one_cycle: the first rate divided by the last. 0: 10000.
	FinalDivFactor float64 `yaml:"final_div_factor,omitempty"`
	// plateau: metric of evaluations that is to improve. Default loss. Training must be by one process.
	Metric string `yaml:"metric,omitempty"`
	// plateau: whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// plateau: factor on the rate where the metric stops improving. 0: 0.1.
	Factor float64 `yaml:"factor,omitempty"`
	// plateau: evaluations without improvement up to a reduction. 0: 10.
	Patience int `yaml:"patience,omitempty"`
	// plateau: the least change of the metric that counts as an improvement. 0: 0.0001.
	MinDelta float64 `yaml:"min_delta,omitempty"`
	// plateau: evaluations behind a reduction that do not count.
	Cooldown int `yaml:"cooldown,omitempty"`
	// plateau: the rate does not fall below it.
	MinLR float64 `yaml:"min_lr,omitempty"`
	// piecewise_constant: increasing steps at which the value changes.
	Boundaries []int64 `yaml:"boundaries,omitempty"`
	// piecewise_constant: the values, one more than there are boundaries.
	Values []float64 `yaml:"values,omitempty"`
	// sequence: schedules one after another, product: schedules that are multiplied. Each is a number or a map of the keys here, parts
	// included. In a sequence each but the last has steps, how long it runs, and begins with its own step 0.
	Parts []any `yaml:"parts,omitempty"`
	// Steps of a linear warm-up from 0 to initial, ahead of any schedule. The schedule's own step 0 is its end.
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
