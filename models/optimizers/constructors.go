package optimizers

import "github.com/goestimator/goestimator/internal/platform/params"

// Option changes a default of a constructor. For an option that the rule does not have,
// or a value out of range, Minimize fails.
type Option func(c *construction)

// construction is the state that options change.
type construction struct {
	prefix     string // of the rule's name
	parameters map[string]any
	then       []func(o *Optimizer)
}

// SGD is w -= lr*g (tf.compat.v1.train.GradientDescentOptimizer).
func SGD(learningRate float64, opts ...Option) *Optimizer { return named("sgd", learningRate, opts) }

// Momentum is m = momentum*m + g, w -= lr*m (tf.compat.v1.train.MomentumOptimizer);
// WithMomentum (0.9), WithNesterov.
func Momentum(learningRate float64, opts ...Option) *Optimizer {
	return named("momentum", learningRate, opts)
}

// Adam is tf.compat.v1.train.AdamOptimizer; WithBeta1 (0.9), WithBeta2 (0.999), WithEpsilon (1e-8).
func Adam(learningRate float64, opts ...Option) *Optimizer { return named("adam", learningRate, opts) }

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2017); WithWeightDecay (0.01).
func AdamW(learningRate float64, opts ...Option) *Optimizer {
	return named("adamw", learningRate, opts)
}

// Adagrad is a += g*g, w -= lr*g/sqrt(a) (tf.compat.v1.train.AdagradOptimizer);
// WithInitialAccumulator (0.1).
func Adagrad(learningRate float64, opts ...Option) *Optimizer {
	return named("adagrad", learningRate, opts)
}

// RMSProp is tf.compat.v1.train.RMSPropOptimizer; WithRho (0.9), WithMomentum (0),
// WithEpsilon (1e-10), WithCentered.
func RMSProp(learningRate float64, opts ...Option) *Optimizer {
	return named("rmsprop", learningRate, opts)
}

// Ftrl is tf.compat.v1.train.FtrlOptimizer; WithLearningRatePower (-0.5),
// WithInitialAccumulator (0.1), WithL1, WithL2, WithL2Shrinkage, WithBeta (0).
func Ftrl(learningRate float64, opts ...Option) *Optimizer { return named("ftrl", learningRate, opts) }

// AMSGrad is tf.keras.optimizers.Adam with amsgrad (Reddi et al. 2018); WithBeta1 (0.9), WithBeta2 (0.999), WithEpsilon (1e-7).
func AMSGrad(learningRate float64, opts ...Option) *Optimizer {
	return named("amsgrad", learningRate, opts)
}

// Adamax is tf.keras.optimizers.Adamax; WithBeta1 (0.9), WithBeta2 (0.999), WithEpsilon (1e-7).
func Adamax(learningRate float64, opts ...Option) *Optimizer {
	return named("adamax", learningRate, opts)
}

// Nadam is tf.keras.optimizers.Nadam; WithBeta1 (0.9), WithBeta2 (0.999), WithEpsilon (1e-7).
func Nadam(learningRate float64, opts ...Option) *Optimizer {
	return named("nadam", learningRate, opts)
}

// Adadelta is tf.keras.optimizers.Adadelta; WithRho (0.95), WithEpsilon (1e-7).
func Adadelta(learningRate float64, opts ...Option) *Optimizer {
	return named("adadelta", learningRate, opts)
}

// Lion is tf.keras.optimizers.Lion (Chen et al. 2023); WithBeta1 (0.9), WithBeta2 (0.99). Its rates are a third to a
// tenth of Adam's.
func Lion(learningRate float64, opts ...Option) *Optimizer { return named("lion", learningRate, opts) }

// LAMB is Adam with steps in proportion to the norm of each variable, for large batches (You et al. 2019;
// tfa.optimizers.LAMB); WithBeta1 (0.9), WithBeta2 (0.999), WithEpsilon (1e-6), WithWeightDecay (0), which is part of
// the step.
func LAMB(learningRate float64, opts ...Option) *Optimizer { return named("lamb", learningRate, opts) }

// Of is an optimizer with that rule, such as one made by NewRule.
func Of(r Rule, learningRate float64, opts ...Option) *Optimizer {
	return construct(learningRate, opts, func(c construction) (*Optimizer, error) {
		if err := checkRule(r); err != nil {
			return nil, err
		}
		given := registered{rule: func(*params.Reader) Rule { return r }}
		return given.optimizer(r.Name(), c.parameters)
	})
}

// named is New; its error is reported by Minimize.
func named(name string, learningRate float64, opts []Option) *Optimizer {
	return construct(learningRate, opts, func(c construction) (*Optimizer, error) { return New(c.prefix+name, c.parameters) })
}

func construct(learningRate float64, opts []Option, make func(c construction) (*Optimizer, error)) *Optimizer {
	c := construction{parameters: map[string]any{"learning_rate": learningRate}}
	for _, o := range opts {
		o(&c)
	}
	o, err := make(c)
	if err != nil {
		return &Optimizer{err: err}
	}
	for _, f := range c.then {
		f(o)
	}
	return o
}

func set(name string, value any) Option { return func(c *construction) { c.parameters[name] = value } }

func then(f func(o *Optimizer)) Option { return func(c *construction) { c.then = append(c.then, f) } }

// WithSchedule sets a learning rate that depends on the step.
func WithSchedule(s Schedule) Option { return then(func(o *Optimizer) { o.LearningRate = s }) }

// WithLossScale scales the loss for differentiation.
func WithLossScale(l LossScale) Option { return then(func(o *Optimizer) { o.LossScale = l }) }

// WithSkipNonFinite skips updates that are not finite, up to n in a row.
func WithSkipNonFinite(n int64) Option { return then(func(o *Optimizer) { o.SkipNonFinite = n }) }

// WithKeras selects the rule and the defaults of tf.keras.optimizers instead of tf.compat.v1.train.
// It applies to SGD, which then has WithMomentum, Adam, AdamW, Adagrad, RMSProp and Ftrl.
func WithKeras() Option { return func(c *construction) { c.prefix = "keras_" } }

// WithSlotNames says how slots are named in checkpoints.
func WithSlotNames(n SlotNames) Option { return set("slot_names", string(n)) }

// WithWeightDecay takes lr*decay*w from each variable w before its update.
func WithWeightDecay(decay float64) Option { return set("weight_decay", decay) }

// WithNoDecay excludes variables whose full name the regular expression matches from weight decay.
func WithNoDecay(pattern string) Option { return set("no_decay", pattern) }

// WithClipNorm bounds the L2 norm of each gradient (tf.clip_by_norm).
func WithClipNorm(limit float64) Option { return set(string(ClipNorm), limit) }

// WithClipValue bounds each element of gradients (tf.clip_by_value).
func WithClipValue(limit float64) Option { return set(string(ClipValue), limit) }

// WithClipGlobalNorm bounds the L2 norm of all gradients together (tf.clip_by_global_norm).
func WithClipGlobalNorm(limit float64) Option { return set(string(ClipGlobalNorm), limit) }

// WithAccumulateSteps makes one update from the mean gradient of n batches.
func WithAccumulateSteps(n int) Option { return set("accumulate_steps", n) }

// WithMomentum sets the fraction of the previous step that is added to the next.
func WithMomentum(momentum float64) Option { return set("momentum", momentum) }

// WithNesterov looks ahead along the momentum (Nesterov 1983).
func WithNesterov() Option { return set("nesterov", true) }

// WithBeta1 sets the decay of the mean of gradients, in [0, 1).
func WithBeta1(beta float64) Option { return set("beta1", beta) }

// WithBeta2 sets the decay of the mean of squared gradients, in [0, 1).
func WithBeta2(beta float64) Option { return set("beta2", beta) }

// WithRho sets the decay of the mean square of RMSProp and Adadelta, in [0, 1).
func WithRho(rho float64) Option { return set("rho", rho) }

// WithCentered makes RMSProp divide by the variance instead of the mean square.
func WithCentered() Option { return set("centered", true) }

// WithEpsilon sets the number that keeps a divisor away from 0.
func WithEpsilon(epsilon float64) Option { return set("epsilon", epsilon) }

// WithInitialAccumulator sets the first value of the sum of squares.
func WithInitialAccumulator(v float64) Option { return set("initial_accumulator_value", v) }

// WithLearningRatePower sets Ftrl's power, <= 0.
func WithLearningRatePower(power float64) Option { return set("learning_rate_power", power) }

// WithL1 sets Ftrl's L1 penalty.
func WithL1(l1 float64) Option { return set("l1", l1) }

// WithL2 sets Ftrl's L2 penalty.
func WithL2(l2 float64) Option { return set("l2", l2) }

// WithL2Shrinkage sets Ftrl's penalty on the magnitude of its linear term.
func WithL2Shrinkage(l2 float64) Option { return set("l2_shrinkage", l2) }

// WithBeta sets Ftrl's beta.
func WithBeta(beta float64) Option { return set("beta", beta) }
