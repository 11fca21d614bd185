package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Strategy owns the variables of step functions and runs the functions on its replicas.
// A Strategy and what it makes, except a Coordinator, must be used by one goroutine at a
// time.
type Strategy struct {
	config runconfig.RunConfig
	log    *slog.Logger
	inner  strategies.Strategy
	shared strategies.Shared // inner if other tasks share it, else nil
	job    *strategies.Job   // nil: only this process
	seed   int64
	dtype  tensor.DType

	functions []*Function
	variables []*models.Variable
	metrics   []*Metric
	inputs    []*Input
	initial   []initialValue

	opened      bool  // building has ended
	failed      error // of making variables and programs
	closed      bool
	ended       bool  // model_dir has the end of an earlier run
	ready       bool  // the variables have the values of the job
	over        bool  // training has ended in all tasks
	interrupted bool  // training continues when the job is started again
	lost        bool  // a step failed: the others are not waited for
	step        int64 // the global step
	runs        int   // of training functions
	more        bool  // the last run had data in some task

	first       *Function         // the training function that ran first
	saver       *checkpoint.Saver // the chief's, once it has saved
	remotes     remotes
	coordinated bool // it has a Coordinator
	worked      bool // it has run functions for one
}

// Option adjusts a new Strategy.
type Option func(*options)

type options struct {
	log  *slog.Logger
	gpus gpus.Source
}

// WithLogger sets where progress is logged; the default is slog's default.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// New returns the strategy that a RunConfig names, and joins the cluster that it describes.
// runconfig.New takes the cluster from TF_CONFIG, runconfig.FromTFConfig from a text,
// runconfig.FromCluster from a ClusterSpec. A parameter server calls Serve instead. An evaluator task is not in the
// cluster: it uses the strategy's replicas in this process, or those of eval_distribute; see EvaluateCheckpoints.
func New(rc runconfig.RunConfig, opts ...Option) (*Strategy, error) {
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	s := &Strategy{config: rc, log: o.log, dtype: tensor.Float32, more: true}
	if err := s.open(o.gpus); err != nil {
		return nil, fmt.Errorf("distribute: %w", err)
	}
	return s, nil
}

// collect applies options to the defaults.
func collect(opts []Option) (options, error) {
	o := options{log: slog.Default(), gpus: gpus.CUDA()}
	for _, f := range opts {
		if f == nil {
			return o, errors.New("distribute: an option is nil: leave it out")
		}
		f(&o)
	}
	if o.log == nil {
		return o, errors.New("distribute: the logger must not be nil: leave the option out for slog's default")
	}
	return o, nil
}

// open chooses the strategy and joins the cluster.
func (s *Strategy) open(source gpus.Source) (err error) {
	rc := s.config
	if rc.TaskType() == runconfig.PS {
		return runconfig.Mistake(fmt.Errorf("task %s/%d does not train: parameter servers call Serve", rc.TaskType(), rc.TaskID()))
	}
	config := strategies.ConfigOf(rc, gpus.NewChooser(source, s.log))
	if rc.TaskType() == runconfig.Evaluator {
		config = config.Inference(rc.EvalDistribute())
		config.Elastic = runconfig.Elastic{}
	}
	if config.Precision == "float64" {
		s.dtype = tensor.Float64
	}
	var ok bool
	if s.seed, ok = rc.TFRandomSeed(); !ok {
		s.seed = rand.Int64()
	}
	if err := config.Validate(); err != nil {
		return err
	}
	if config.Elastic.Enabled() {
		return runconfig.Mistake(errors.New("strategy.elastic: the tasks of a loop of one's own stay the same: leave it out, or train by an Estimator"))
	}
	if rc.NumWorkers() > 1 || rc.NumPS() > 0 {
		if config.Strategy, err = config.InCluster(rc.NumWorkers(), rc.NumPS()); err != nil {
			return err
		}
		if s.job, err = strategies.Join(rc, s.log); err != nil {
			return err
		}
		config.Job, config.Sessions = s.job, strategies.SessionFile{Dir: rc.ModelDir()}
	}
	if s.inner, err = strategies.New(config); err != nil {
		return errors.Join(err, s.leave())
	}
	s.shared, _ = s.inner.(strategies.Shared)
	return nil
}

// Serve runs this task, a parameter server of the cluster that rc describes, until the
// chief says that training is over. If ctx ends first, the error wraps ErrInterrupted.
func Serve(ctx context.Context, rc runconfig.RunConfig, opts ...Option) error {
	o, err := collect(opts)
	if err != nil {
		return err
	}
	err = strategies.Serve(ctx, rc, o.log)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return err
}

// Name returns the strategy's name in config files.
func (s *Strategy) Name() string { return s.inner.Name() }

// NumReplicasInSync returns the number of replicas, over all tasks, that make one step.
func (s *Strategy) NumReplicasInSync() int { return max(s.inner.Replicas().InSync, 1) }

// LocalReplicas returns the number of this task's replicas: the parts of its batches.
func (s *Strategy) LocalReplicas() int { return max(s.inner.Replicas().Local, 1) }

// IsChief reports whether this task saves checkpoints.
func (s *Strategy) IsChief() bool { return s.config.IsChief() }

// GlobalStep returns the number of runs of training functions, by all tasks.
func (s *Strategy) GlobalStep() int64 { return s.step }

// lockstep reports whether every task takes part in every step.
func (s *Strategy) lockstep() bool { return s.inner.Replicas().Lockstep }

// asynchronous reports whether tasks share variables but make steps independently.
func (s *Strategy) asynchronous() bool { return s.shared != nil && !s.lockstep() }

// rank is this task's number among the tasks that train.
func (s *Strategy) rank() int { return max(s.config.WorkerRank(), 0) }

// terms returns what the tasks of a cluster compare, in addition to the functions.
func (s *Strategy) terms() strategies.Terms {
	t := strategies.Terms{}
	if seed, ok := s.config.TFRandomSeed(); ok {
		t.Seed = strconv.FormatInt(seed, 10)
	}
	if len(s.inputs) > 0 {
		t.Batch = s.inputs[0].global
	}
	return t
}

// addVariables adds a function's variables to the strategy.
func (s *Strategy) addVariables(f *Function) error {
	for _, v := range f.traced.variables {
		i := slices.IndexFunc(s.variables, func(o *models.Variable) bool { return o.Name == v.Name })
		if i < 0 {
			continue
		}
		if o := s.variables[i]; !sameType(o, v) {
			return fmt.Errorf("variable %s: %v%v here, %v%v in another function: expected one type and shape", v.Name, v.DType, v.Shape, o.DType, o.Shape)
		}
	}
	for _, v := range f.traced.variables {
		if !slices.ContainsFunc(s.variables, func(o *models.Variable) bool { return o.Name == v.Name }) {
			s.variables = append(s.variables, v)
		}
	}
	return nil
}

// Variable returns a copy of the value of a model's variable, or of an optimizer's if the
// strategy has it in memory.
func (s *Strategy) Variable(name string) (*tensor.Tensor, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	return s.inner.Variables().Get(name)
}

// VariableNames returns the names of all variables, including optimizer state, sorted.
func (s *Strategy) VariableNames() []string { return s.inner.Variables().Names() }

// leave leaves the cluster.
func (s *Strategy) leave() error {
	if s.job == nil {
		return nil
	}
	return s.job.Close()
}

// Close ends training and frees everything. In lock step, or on the chief, it ends training in
// all tasks: their next run of a training function returns an error that wraps ErrEnded. After an
// interruption training continues when the tasks are started again. A second Close does nothing.
func (s *Strategy) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.coordinated && s.notesEnd() {
		if step, err := s.globalStep(); err == nil {
			s.step = step
		}
	}
	if s.shared != nil && s.ready && !s.lost {
		errs = append(errs, s.end(context.WithoutCancel(ctx)))
	}
	errs = append(errs, s.noteEnd())
	for _, in := range s.inputs {
		errs = append(errs, in.close())
	}
	for _, f := range s.functions {
		if f.stepper != nil {
			errs = append(errs, f.stepper.Close())
		}
	}
	return errors.Join(append(errs, s.inner.Close(), s.leave())...)
}

// end tells the other tasks that training is over.
func (s *Strategy) end(ctx context.Context) error {
	if s.interrupted {
		return s.shared.Finish(ctx, false)
	}
	if s.lockstep() && !s.over { // even before the first step: a task may still wait for its variables
		if _, err := s.firstToTrain().stepper.Step(ctx, strategies.Step{Stop: strategies.Finished}); err != nil {
			return err
		}
	}
	return errors.Join(s.shared.Drain(ctx, false), s.shared.Finish(ctx, true))
}

// firstToTrain returns the function that other tasks run in their next step: the first one that ran or, before the first step, the first
// training function that was built. A shared strategy always has one.
func (s *Strategy) firstToTrain() *Function {
	if s.first != nil {
		return s.first
	}
	return s.functions[slices.IndexFunc(s.functions, (*Function).trains)]
}
