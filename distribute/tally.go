package distribute

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/goestimator/goestimator/estimator/metrics"
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// tally is the state of an evaluation for some rows.
type tally struct {
	rows   int64
	states []metrics.Accumulator // of the metrics, in the order of their names, and of the loss
}

func (e *Evaluation) newTally() (*tally, error) {
	t := &tally{}
	for _, o := range e.operands {
		acc, err := e.spec.Metrics[o.metric]()
		if err == nil && acc == nil {
			err = errNoAccumulator
		}
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", o.metric, err)
		}
		t.states = append(t.states, acc)
	}
	t.states = append(t.states, metrics.NewMean())
	return t, nil
}

// loss returns the accumulator of the loss, a mean over rows.
func (t *tally) loss() metrics.Accumulator { return t.states[len(t.states)-1] }

// add adds the replicas' results for a batch.
func (t *tally) add(res *Result, all []operands) error {
	for i, o := range all {
		if err := updateAll(t.states[i], res.operands(o)); err != nil {
			return fmt.Errorf("metric %s: %w", o.metric, err)
		}
	}
	loss := res.function.fetch(lossName)
	for replica, part := range res.function.parts {
		t.rows += int64(part.Rows)
		if loss < 0 {
			continue
		}
		weight := tensor.Scalar(float64(part.Rows))
		if err := t.loss().Update(strategies.ReplicaValue(res.function.stepper, replica, loss), weight); err != nil {
			return fmt.Errorf("loss: %w", err)
		}
	}
	return nil
}

// tensors returns the tally as a message: the number of rows, and the state of each metric as bytes.
func (t *tally) tensors() ([]*tensor.Tensor, error) {
	out := []*tensor.Tensor{tensor.Scalar(t.rows)}
	for _, acc := range t.states {
		state, err := acc.MarshalBinary()
		if err != nil {
			return nil, err
		}
		bytes := tensor.New(tensor.Uint8, len(state))
		copy(bytes.Bytes, state)
		out = append(out, bytes)
	}
	return out, nil
}

// merge adds the tally of other rows.
func (e *Evaluation) merge(t *tally, other []*tensor.Tensor) error {
	if len(other) != 1+len(t.states) || other[0].DType != tensor.Int64 || other[0].Len() != 1 {
		return fmt.Errorf("%d results: expected the number of rows and %d states: do all tasks run the same program?", len(other), len(t.states))
	}
	for _, o := range other {
		if err := remote.Check(o); err != nil {
			return err
		}
	}
	empty, err := e.newTally()
	if err != nil {
		return err
	}
	for i, acc := range empty.states {
		if err := acc.UnmarshalBinary(other[1+i].Bytes); err != nil {
			return err
		}
		if err := t.states[i].Merge(acc); err != nil {
			return err
		}
	}
	t.rows += other[0].Int(0)
	return nil
}

// gather merges the tallies of all tasks in lock step in the order of their ranks.
func (e *Evaluation) gather(ctx context.Context, g strategies.Gatherer, mine *tally) (*tally, error) {
	tensors, err := mine.tensors()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(tensors); err != nil {
		return nil, err
	}
	all, err := gathered(ctx, g, "evaluation "+e.Name(), b.Bytes())
	if err != nil {
		return nil, err
	}
	sum, err := e.newTally()
	if err != nil {
		return nil, err
	}
	for rank, text := range all {
		var theirs []*tensor.Tensor
		err := gob.NewDecoder(bytes.NewReader(text)).Decode(&theirs)
		if err == nil {
			err = e.merge(sum, theirs)
		}
		if err != nil {
			return nil, fmt.Errorf("state of worker %d: %w", rank, err)
		}
	}
	return sum, nil
}
