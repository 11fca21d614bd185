package estimator

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Estimator trains, evaluates and runs one model, whose state lives in its
// model directory. Train, Evaluate and Predict may be called any number of
// times, by one goroutine at a time; evaluating or predicting again reuses the
// compiled program.
type Estimator struct {
	modelFn ModelFn
	settings
	place place // of the present training
	// trainedTo is the step at which the last training of this Estimator ended, 0 for none.
	trainedTo int64

	mu           sync.Mutex
	ready        map[string]*inference     // compiled programs of evaluation and prediction
	evalEvents   map[string]*summary.Lossy // by the name of the evaluation
	warnedUnused bool                      // a checkpoint had weights that the model does not use
}

// settings are set by options and the RunConfig.
type settings struct {
	config   runconfig.RunConfig
	params   Params
	modelDir string
	strategy distribute.Config
	gpus     gpus.Source
	eventsFS atomicfile.FS // of events; nil: the operating system
	warm     *WarmStart
	frozen   []*regexp.Regexp
	// trainedWeights: evaluation, prediction and exports ignore averages of the weights.
	trainedWeights bool
	opt            *optimizers.Optimizer
	optional       bool // a model_fn with an optimizer of its own may ignore opt
	auto           AutoSummaries
	extras         map[string][]byte // kept in checkpoints
	seed           int64
	dtype          tensor.DType
	log            *slog.Logger

	precisionWarning *sync.Once // reports a precision that the host does not have
}

// newEstimator returns an Estimator that runs nothing yet.
func newEstimator(fn ModelFn, s settings) *Estimator {
	return &Estimator{modelFn: fn, settings: s, ready: map[string]*inference{}, evalEvents: map[string]*summary.Lossy{}}
}

// with returns an Estimator with another model_fn on the same model_dir; the two share no running state.
func (e *Estimator) with(fn ModelFn) *Estimator { return newEstimator(fn, e.settings) }

// Option adjusts a new Estimator.
type Option func(*Estimator) error

// WithRunConfig sets the run's configuration; the default is the configuration of an
// empty TF_CONFIG.
func WithRunConfig(rc runconfig.RunConfig) Option {
	return func(e *Estimator) error { e.config = rc; return nil }
}

// WithParams sets the hyper-parameters that the model_fn reads from its context. They are
// copied.
func WithParams(p Params) Option {
	return func(e *Estimator) error { e.params = p.clone(); return nil }
}

// WithModelDir sets the folder of checkpoints and events. It must equal the
// RunConfig's if both are set.
func WithModelDir(dir string) Option {
	return func(e *Estimator) error {
		if dir == "" {
			return errors.New("model_dir should be non-empty")
		}
		e.modelDir = dir
		return nil
	}
}

// WithOptimizer sets the optimizer of a model_fn that reads it from its context, such
// as heads.MultiClassHead.Of makes, and replaces a canned model's default. Training
// fails if the model_fn has an optimizer of its own, or if no optimizer trains the
// model, such as boosted trees.
func WithOptimizer(o *optimizers.Optimizer) Option {
	return func(e *Estimator) error {
		if o == nil {
			return errors.New("the optimizer must not be nil: leave the option out where the model_fn has its own")
		}
		e.opt, e.optional = o, false
		return nil
	}
}

// WithDefaultOptimizer is WithOptimizer for a model_fn that may have an optimizer of
// its own. If it does, the model_fn's optimizer trains the model.
func WithDefaultOptimizer(o *optimizers.Optimizer) Option {
	return func(e *Estimator) error {
		err := WithOptimizer(o)(e)
		e.optional = true
		return err
	}
}

// WithLogger sets where progress is logged; the default is slog's default.
func WithLogger(l *slog.Logger) Option {
	return func(e *Estimator) error {
		if l == nil {
			return errors.New("the logger must not be nil: leave the option out for slog's default")
		}
		e.log = l
		return nil
	}
}

// New returns an Estimator of the model that modelFn builds.
func New(modelFn ModelFn, opts ...Option) (*Estimator, error) {
	if modelFn == nil {
		return nil, errors.New("model_fn must be provided to Estimator")
	}
	if made, ok := modelFn.(interface{ Err() error }); ok {
		if err := made.Err(); err != nil {
			return nil, fmt.Errorf("estimator: model_fn: %w", err)
		}
	}
	rc, err := runconfig.New()
	if err != nil {
		return nil, err
	}
	e := newEstimator(modelFn, settings{config: rc, params: Params{}, log: slog.Default(), gpus: gpus.CUDA(), precisionWarning: &sync.Once{}})
	for _, o := range opts {
		if err := o(e); err != nil {
			return nil, fmt.Errorf("estimator: %w", err)
		}
	}
	if err := e.resolveModelDir(); err != nil {
		return nil, err
	}
	if err := e.resolveRun(); err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	return e, nil
}

// resolveModelDir chooses the folder: the constructor's, the RunConfig's, or a temporary one.
func (e *Estimator) resolveModelDir() error {
	rc := e.config.ModelDir()
	switch {
	case e.modelDir == "":
		e.modelDir = rc
	case rc != "" && rc != e.modelDir:
		return fmt.Errorf("model_dir are set both in constructor (%q) and RunConfig (%q), but with different values: set one", e.modelDir, rc)
	}
	if e.modelDir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "goestimator-")
	if err != nil {
		return fmt.Errorf("making a temporary model_dir: %w", err)
	}
	e.modelDir = dir
	e.log.Warn("using a temporary folder as model_dir: set model_dir to keep the model", "model_dir", dir)
	return nil
}

// resolveRun reads strategy, precision and seed from the RunConfig.
func (e *Estimator) resolveRun() error {
	e.strategy = distribute.ConfigOf(e.config, gpus.NewChooser(e.gpus, e.log))
	if err := e.strategy.Validate(); err != nil {
		return err
	}
	e.dtype = tensor.Float32 // of variables, also with tf32 and bf16_mixed
	if e.strategy.Precision == "float64" {
		e.dtype = tensor.Float64
	}
	var ok bool
	if e.seed, ok = e.config.TFRandomSeed(); !ok {
		e.seed = rand.Int64()
	}
	return nil
}

// ModelDir returns the folder of checkpoints and events.
func (e *Estimator) ModelDir() string { return e.modelDir }

// Config returns the run's configuration.
func (e *Estimator) Config() runconfig.RunConfig { return e.config }

// Params returns a copy of the hyper-parameters.
func (e *Estimator) Params() Params { return e.params.clone() }

// EvalDir returns the folder of the events of evaluations of that name, "" for the unnamed one.
func (e *Estimator) EvalDir(name string) string { return sidecar.Dir(e.modelDir, name) }

// Close frees the programs of evaluation and prediction, and closes their event files.
func (e *Estimator) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for key, s := range e.ready {
		errs = append(errs, s.session.close())
		delete(e.ready, key)
	}
	for name, w := range e.evalEvents {
		errs = append(errs, w.Close())
		delete(e.evalEvents, name)
	}
	return errors.Join(errs...)
}
