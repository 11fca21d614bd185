package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator/checkpoint"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrInterrupted wraps the cause of the context's end where training stopped
// for it, after a checkpoint was written.
var ErrInterrupted = errors.New("training was interrupted")

// The reasons why training stops, besides those that hooks give.
const (
	StopMaxSteps   = "max_steps"
	StopEndOfInput = "end_of_input"
)

// TrainResult says how training ended.
type TrainResult struct {
	GlobalStep int64
	Loss       float64 // of the last step; NaN where none was made
	StopReason string  // StopMaxSteps, StopEndOfInput or a hook's reason
}

// Train trains the model until max_steps or steps are done, the input ends, a
// hook asks to stop, or ctx ends; then a checkpoint is written and the error
// wraps ErrInterrupted. Training goes on from the newest checkpoint in
// model_dir, at the position of the input where that was saved.
func (e *Estimator) Train(ctx context.Context, input InputFn, opts ...RunOption) (TrainResult, error) {
	o, err := newRunOptions(opts)
	if err != nil {
		return TrainResult{}, err
	}
	if t := e.config.TaskType(); t == runconfig.Evaluator || t == runconfig.PS {
		return TrainResult{}, fmt.Errorf("train has been called in task %s: only chief and workers train", t)
	}
	if e.config.NumWorkers() > 1 || e.config.NumPS() > 0 || !e.config.IsChief() {
		return TrainResult{}, e.clusterError()
	}
	if done, step, err := e.alreadyTrained(o); err != nil || done {
		return TrainResult{GlobalStep: step, Loss: math.NaN(), StopReason: StopMaxSteps}, err
	}
	t, err := e.openTraining(ctx, input, o)
	if err != nil {
		return TrainResult{}, err
	}
	err = t.run(ctx)
	if cerr := t.close(); err == nil {
		err = cerr
	}
	return TrainResult{GlobalStep: t.step, Loss: t.lastLoss, StopReason: t.reason}, err
}

// clusterError tells that this task's cluster needs a distributed strategy.
func (e *Estimator) clusterError() error {
	return fmt.Errorf("task %s/%d of a cluster: distributed training needs a strategy that this build does not have: unset TF_CONFIG to train in one process",
		e.config.TaskType(), e.config.TaskID())
}

// alreadyTrained reports whether the newest checkpoint has reached max_steps.
// One that cannot be read counts as step 0; opening the training tells of it.
// Where the RunConfig has no seed, training goes on with the checkpoint's.
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
		if err := e.takeSeed(r); err != nil {
			return false, 0, err
		}
	}
	if step := r.Step(); o.maxStepsSet && step >= o.maxSteps {
		e.log.Info("skipping training since max_steps has already saved", "global_step", step, "max_steps", o.maxSteps)
		return true, step, nil
	}
	return false, 0, nil
}

// takeSeed sets the seed to the one that the checkpoint was trained with, where it tells.
func (e *Estimator) takeSeed(r *checkpoint.Reader) error {
	text, ok, err := readString(r, seedKey)
	if err != nil || !ok {
		return err
	}
	if e.seed, err = strconv.ParseInt(string(text), 10, 64); err != nil {
		return fmt.Errorf("checkpoint %s: seed: %w", r.Prefix(), err)
	}
	return nil
}

// inputContext describes this task's input pipeline.
func (e *Estimator) inputContext(mode models.Mode) inputs.Context {
	ic := inputs.Context{Mode: mode, NumPipelines: 1, ReplicasInSync: 1, Seed: e.seed}
	if mode == models.Train {
		if n := e.config.NumWorkers(); n > 1 {
			ic.Pipeline, ic.NumPipelines = e.config.WorkerRank(), n
		}
	}
	return ic
}

// openInput calls the input_fn.
func (e *Estimator) openInput(ctx context.Context, input InputFn, mode models.Mode) (inputs.Dataset, error) {
	if input == nil {
		return nil, errors.New("input_fn must be provided")
	}
	ds, err := input.Input(ctx, e.inputContext(mode))
	if err != nil {
		return nil, fmt.Errorf("input_fn, mode %s: %w", mode, err)
	}
	if ds == nil {
		return nil, fmt.Errorf("input_fn, mode %s: returned no data set", mode)
	}
	return ds, nil
}

// run is the training loop.
func (t *training) run(ctx context.Context) error {
	// A step that has begun is finished, so that what is saved is whole, and a
	// batch that was read is trained on: the input's position is behind it.
	quiet := context.WithoutCancel(ctx)
	if err := t.start(quiet); err != nil {
		return err
	}
	first := t.step
	for t.reason == "" {
		if ctx.Err() != nil {
			return t.interrupted(quiet, context.Cause(ctx))
		}
		rec, err := t.iterator.Next(ctx)
		if errors.Is(err, io.EOF) {
			t.reason = StopEndOfInput
			break
		}
		if err != nil && ctx.Err() != nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("input after step %d: %w", t.step, err)
		}
		if rec.NumRows() > 0 {
			err = t.trainStep(quiet, rec)
		}
		rec.Release()
		if err != nil {
			return err
		}
	}
	if t.step == first && t.reason == StopEndOfInput {
		t.est.log.Warn("training made no steps: perhaps the input is empty or misspecified")
	}
	return t.end(quiet)
}

func (t *training) trainStep(ctx context.Context, rec arrow.Record) error {
	if err := t.runStep(ctx, rec); err != nil {
		var nan *hooks.NaNLossError
		if errors.As(err, &nan) {
			return err
		}
		return fmt.Errorf("step %d: %w", t.step, err)
	}
	loss, err := t.Value("loss")
	if err != nil {
		return err
	}
	t.lastLoss = loss.Float(0)
	return nil
}

// interrupted saves what was done and tells why training stopped. Hooks are not
// told of an end: what they do there, evaluating for example, can take longer
// than the grace that a signal gives.
func (t *training) interrupted(ctx context.Context, cause error) error {
	t.reason = "interrupted"
	err := fmt.Errorf("%w at step %d: %w", ErrInterrupted, t.step, cause)
	if !has[*hooks.CheckpointSaver](t.hooks) {
		return err
	}
	_, serr := t.SaveCheckpoint(ctx)
	return errors.Join(err, serr)
}
