package estimator

import (
	"context"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	G "gorgonia.org/gorgonia"
)

// A ModelFn builds the graph of one mode. It is called at two batch sizes, to learn
// which dimensions depend on the batch, and must build the same graph each time. Labels
// are empty when predicting. If the ModelFn has a method Err() error, New checks it.
type ModelFn interface {
	Model(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error)
}

// A Preparer is a ModelFn that reads columns computed from the data's. The Estimator
// applies Prepare to the data set of every input_fn, in every mode and every task, and
// passes the resulting columns to the model_fn. Prepare must pass labels and weights
// through, and must not read the data.
type Preparer interface {
	Prepare(ds inputs.Dataset) (inputs.Dataset, error)
}

// prepared is a ModelFn with the Preparer of another one.
type prepared struct {
	ModelFn
	Preparer
}

// ModelFunc is a function as a ModelFn.
type ModelFunc func(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error)

// Model calls f.
func (f ModelFunc) Model(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error) {
	return f(mc, features, labels)
}

// An InputFn opens the data of one input pipeline: this task's share of the data.
type InputFn interface {
	Input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error)
}

// InputFunc is a function as an InputFn.
type InputFunc func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error)

// Input calls f.
func (f InputFunc) Input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	return f(ctx, ic)
}

// ModelContext is the context of a model_fn: the Builder and the settings of the
// model.
type ModelContext struct {
	*models.Builder
	params   Params
	config   runconfig.RunConfig
	replicas int
	// optimizer is the Estimator's; asked reports whether the model_fn used it.
	optimizer *optimizers.Optimizer
	optional  bool // set by WithDefaultOptimizer
	asked     bool

	columns []inputs.Column
	leaves  []*G.Node // of the columns
	encoded []encoded
}

// Params returns the Estimator's hyper-parameters.
func (mc *ModelContext) Params() Params { return mc.params }

// Config returns the Estimator's RunConfig.
func (mc *ModelContext) Config() runconfig.RunConfig { return mc.config }

// ReplicasInSync returns the number of replicas, at least 1, whose gradients make one
// step. Strategies apply the mean of the replicas' gradients.
func (mc *ModelContext) ReplicasInSync() int { return mc.replicas }

// Optimizer returns the optimizer of WithOptimizer or WithDefaultOptimizer, nil without one.
func (mc *ModelContext) Optimizer() *optimizers.Optimizer {
	mc.asked = true
	return mc.optimizer
}

// OptimizerOr returns the optimizer of WithOptimizer, or def, the model_fn's default, if there
// is none. WithDefaultOptimizer does not replace def.
func (mc *ModelContext) OptimizerOr(def *optimizers.Optimizer) *optimizers.Optimizer {
	if o := mc.Optimizer(); o != nil && !mc.optional {
		return o
	}
	return def
}

// CommonSeed returns a seed for step functions that is the same in all tasks of the job: Seed
// if tf_random_seed is set or the task is alone, else a constant.
func (mc *ModelContext) CommonSeed() int64 {
	if _, ok := mc.config.TFRandomSeed(); !ok && mc.config.ClusterSpec().Len() > 1 {
		return unseeded
	}
	return mc.Seed()
}

// unseeded is the common seed of a cluster's tasks if none is set.
const unseeded = 1

// Params are a model's hyper-parameters by name.
type Params map[string]any

func (p Params) clone() Params {
	c := make(Params, len(p))
	for k, v := range p {
		c[k] = v
	}
	return c
}

// Int returns an integer parameter, or def if it is absent. A number may be text. For a
// value that is no whole number Int returns def and false.
func (p Params) Int(name string, def int) (int, bool) {
	return param(p, name, def, params.Integer)
}

// Float returns a numeric parameter, or def if it is absent. A number may be text. For a
// value that is no number Float returns def and false.
func (p Params) Float(name string, def float64) (float64, bool) {
	return param(p, name, def, params.Float)
}

func param[T any](p Params, name string, def T, convert func(any) (T, bool)) (T, bool) {
	if p[name] == nil {
		return def, true
	}
	if v, ok := convert(p[name]); ok {
		return v, true
	}
	return def, false
}
