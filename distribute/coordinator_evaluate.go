package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// shardsPerWorker is the default number of shards of an evaluation per worker, as in Keras.
const shardsPerWorker = 5

// remoteEvaluation is the prefix of the names of evaluations' remote functions.
const remoteEvaluation = "evaluation/"

// Evaluate runs an evaluation on the workers. The data is divided into shards; 0 means 5 for
// each worker. A worker evaluates a whole shard and returns the states of its metrics, which
// are merged here in the order of the shards. So each row counts exactly once, even if workers
// are lost, and the result depends only on the number of shards. Evaluate first waits for
// functions that were scheduled before; no others should train meanwhile. Errors are as for Join.
func (c *Coordinator) Evaluate(ctx context.Context, e *Evaluation, shards int) (EvalResult, error) {
	switch {
	case e == nil || e.strategy != c.strategy:
		return EvalResult{}, errors.New("evaluate: expected an evaluation of the coordinator's strategy")
	case shards < 0 || shards > remote.QueueLimit:
		return EvalResult{}, fmt.Errorf("evaluate %s: %d shards: expected 1 to %d, or 0", e.Name(), shards, remote.QueueLimit)
	case shards == 0:
		shards = shardsPerWorker * len(c.strategy.job.FunctionWorkers())
	}
	res, err := c.evaluate(ctx, e, shards)
	if err != nil {
		return EvalResult{}, fmt.Errorf("evaluate %s: %w", e.Name(), err)
	}
	return res, nil
}

func (c *Coordinator) evaluate(ctx context.Context, e *Evaluation, shards int) (EvalResult, error) {
	if err := c.inner.Join(ctx); err != nil {
		return EvalResult{}, err
	}
	fn := c.strategy.remotes.functions[remoteEvaluation+e.Name()]
	var values []*RemoteValue
	for i := range shards {
		v, err := c.Schedule(ctx, fn, tensor.Scalar(int64(i)), tensor.Scalar(int64(shards)))
		if err != nil {
			return EvalResult{}, err
		}
		values = append(values, v)
	}
	sum, err := e.newTally()
	if err != nil {
		return EvalResult{}, err
	}
	for i, v := range values {
		states, err := v.Fetch(ctx)
		if err == nil {
			err = e.merge(sum, states)
		}
		if err != nil {
			return EvalResult{}, fmt.Errorf("shard %d of %d: %w", i, shards, c.settle(ctx, err))
		}
		values[i] = nil // free its state
	}
	return e.result(sum)
}

// settle waits until no function runs, and returns the error that caused err.
func (c *Coordinator) settle(ctx context.Context, err error) error {
	if first := c.inner.Join(ctx); first != nil && ctx.Err() == nil {
		return first
	}
	return err
}

// runShard is the remote function of an evaluation. Arguments are the shard and the number of shards, results the states of metrics.
func (e *Evaluation) runShard(ctx context.Context, call *RemoteCall) ([]*tensor.Tensor, error) {
	var at [2]int
	for i := range at {
		t, err := call.Tensor(i)
		if err != nil {
			return nil, err
		}
		at[i] = int(t.Int(0))
	}
	t, err := e.share(ctx, at[0], at[1])
	if err != nil {
		return nil, err
	}
	return t.tensors()
}
