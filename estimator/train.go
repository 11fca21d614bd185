package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrInterrupted is wrapped, with the cause of the context's end, by the error of a
// training that stopped because its context ended. A checkpoint was written first.
var ErrInterrupted = distribute.ErrInterrupted

// The reasons why training stops. Hooks may give others.
const (
	StopMaxSteps   = checkpoint.ReasonMaxSteps
	StopEndOfInput = "end_of_input"
	StopOtherTask  = "other_task" // another task of the cluster ended the training
)

// TrainResult says how training ended.
type TrainResult struct {
	GlobalStep int64   // negative on a parameter server, which does not know it
	Loss       float64 // of the last step whose loss was read (on the host, of every step); NaN without one
	LossRead   bool    // there was such a step; a NaN in Loss is then the training's
	StopReason string  // StopMaxSteps, StopEndOfInput or a hook's reason
}

// Train trains the model until MaxSteps or Steps are done, the input ends, a hook asks
// to stop, or ctx ends. If ctx ends, Train writes a checkpoint and returns an error that
// wraps ErrInterrupted. Training resumes from the newest checkpoint in model_dir, at the
// input position saved there. If the input had ended, a further call on the same
// Estimator begins it again, and any program may continue with another input.
func (e *Estimator) Train(ctx context.Context, input InputFn, opts ...TrainOption) (TrainResult, error) {
	res, err := e.trainInJob(ctx, input, opts)
	return res, reportFailure(ctx, e.config, e.log, nil, err)
}

// trainInJob trains as a member of the job, unless the job is done. It reports errors of
// the training to the others before it leaves the job.
func (e *Estimator) trainInJob(ctx context.Context, input InputFn, opts []TrainOption) (TrainResult, error) {
	o, err := newRunOptions(opts, TrainOption.forTrain)
	if err != nil {
		return TrainResult{}, err
	}
	if t := e.config.TaskType(); t == runconfig.Evaluator || t == runconfig.PS {
		return TrainResult{}, mistakef("train has been called in task %s: only chief and workers train", t)
	}
	if done, step, err := e.alreadyTrained(o); err != nil || done {
		if done {
			err = e.requireUnused()
		}
		if done && err == nil {
			err = errors.Join(e.noteSkipped(step), e.releaseServers(ctx, step))
		}
		return TrainResult{GlobalStep: step, Loss: math.NaN(), StopReason: StopMaxSteps}, err
	}
	defer noteLastEnd()
	config, leave, err := e.joinJob(o.maxSteps)
	if err != nil {
		return TrainResult{}, err
	}
	res, err := e.train(ctx, input, config, o)
	if ended, ok := endedBefore(err); ok {
		e.log.Info("training ended before this task could take part", "global_step", ended.GlobalStep)
		res, err = ended, nil
	}
	err = reportFailure(ctx, e.config, e.log, config.Job, err)
	return res, errors.Join(err, leave())
}

// train runs one training loop on a strategy of that config.
func (e *Estimator) train(ctx context.Context, input InputFn, config distribute.Config, o runOptions) (TrainResult, error) {
	t, err := e.openTraining(ctx, input, config, o)
	if err != nil {
		return TrainResult{}, err
	}
	err = t.run(ctx)
	if e.trainedTo = 0; err == nil {
		e.trainedTo = t.progress.step
	}
	if nerr := t.noteEnd(err); err == nil {
		err = nerr
	}
	if cerr := t.close(); err == nil {
		err = cerr
	}
	return TrainResult{GlobalStep: t.progress.step, Loss: t.lastLoss, LossRead: t.lossRead, StopReason: t.progress.reason}, err
}

// alreadyTrained reports whether the newest checkpoint has reached max_steps. An
// unreadable checkpoint counts as step 0; opening the training reports it. If the
// RunConfig has no seed, training continues with the checkpoint's.
func (e *Estimator) alreadyTrained(o runOptions) (bool, int64, error) {
	_, seeded := e.config.TFRandomSeed()
	if !o.maxStepsSet && seeded {
		return false, 0, nil
	}
	r, err := checkpoint.OpenLatest(context.Background(), e.modelDir)
	if err != nil {
		return false, 0, nil
	}
	defer r.Close()
	if !seeded {
		if err := e.restoreSeed(r); err != nil {
			return false, 0, err
		}
	}
	if step := r.Step(); o.maxStepsSet && step >= o.maxSteps && !e.restorePending(o, step) {
		e.log.Info("skipping training since max_steps has already saved", "global_step", step, "max_steps", o.maxSteps)
		return true, step, nil
	}
	return false, 0, nil
}

// restoreSeed sets the seed to the checkpoint's, if the checkpoint has one.
func (e *Estimator) restoreSeed(r *checkpoint.Reader) error {
	text, ok, err := saved.String(r, saved.SeedKey)
	if err != nil || !ok {
		return err
	}
	if e.seed, err = strconv.ParseInt(string(text), 10, 64); err != nil {
		return fmt.Errorf("checkpoint %s: seed: %w", r.Prefix(), err)
	}
	return nil
}

// inputContext describes this task's input pipeline. As in tf.estimator, each replica
// takes its own batches, and each worker has its share of the data.
func (e *Estimator) inputContext(mode models.Mode) inputs.Context {
	ic := inputs.Context{Mode: mode, NumPipelines: 1, ReplicasInSync: 1, Seed: e.seed}
	if mode == models.Predict || mode == models.Eval && !e.evaluatesOnWorkers() {
		return ic
	}
	if n := e.config.NumWorkers(); n > 1 {
		ic.Pipeline, ic.NumPipelines = e.rank(), n
	}
	if e.config.ClusterSpec().Sparse() {
		// The number of workers is unknown, so each reads all data, in its own order.
		ic.Seed += int64(e.rank())
	}
	ic.ReplicasInSync = e.strategy.ReplicasInSync(ic.NumPipelines)
	if e.elastic() { // every worker reads the same batches, and trains on its share of each
		ic.Pipeline, ic.NumPipelines, ic.ReplicasInSync = 0, 1, 1
	}
	return ic
}

// replicasInSync is the greatest number of replicas that make one step.
func (e *Estimator) replicasInSync(mode models.Mode) int {
	if mode == models.Train && e.elastic() {
		return e.config.NumWorkers()
	}
	return e.inputContext(mode).ReplicasInSync
}

// callInput calls the input_fn.
func (e *Estimator) callInput(ctx context.Context, input InputFn, mode models.Mode) (inputs.Dataset, error) {
	if input == nil {
		return nil, errors.New("input_fn must be provided")
	}
	ds, err := openedBy(ctx, input, e.inputContext(mode))
	if err != nil {
		return nil, fmt.Errorf("input_fn, mode %s: %w", mode, err)
	}
	if ds == nil {
		return nil, fmt.Errorf("input_fn, mode %s: returned no data set", mode)
	}
	return ds, nil
}

// openedBy returns the result of an input_fn. It turns a panic into an error, as for a model_fn.
func openedBy(ctx context.Context, input InputFn, ic inputs.Context) (ds inputs.Dataset, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return input.Input(ctx, ic)
}

// openInput calls the input_fn; a model_fn that is a Preparer prepares its data.
func (e *Estimator) openInput(ctx context.Context, input InputFn, mode models.Mode) (inputs.Dataset, error) {
	ds, err := e.callInput(ctx, input, mode)
	if err != nil {
		return nil, err
	}
	p, ok := e.modelFn.(Preparer)
	if !ok {
		return ds, nil
	}
	if ds, err = p.Prepare(ds); err != nil {
		return nil, fmt.Errorf("preparing the input, mode %s: %w", mode, err)
	}
	return ds, nil
}
