package distribute

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

// gpuMean computes the means of dense gradients and updates over replicas with a GPU
// each. These never come to the host, unlike the loss, a scalar, and the rows of sparse
// gradients.
type gpuMean struct {
	mean    *cuda.Mean
	workers *workerGPUs         // the owner of the GPUs; nil: only this process's
	places  [][]engine.Resident // per copy, as the feeds of its application
	steps   []int64             // global steps that the applications reported
}

// ownGPUs returns the GPUs of the replicas if dense results can stay there: nil unless
// each replica has its own GPU, and the results are gradients.
func (s *replicatedStepper) ownGPUs() []*cuda.Device {
	r := s.strategy
	if s.train.Train.Step != nil || len(r.copies) != r.replicas {
		return nil
	}
	return gpus.Distinct(r.devices)
}

// values returns the values to average: the dense results except the loss.
func (s *replicatedStepper) values() []cuda.Value {
	values := make([]cuda.Value, len(s.sums.dense)-1)
	for i := range values {
		t := s.sums.dense[i]
		values[i] = cuda.Value{Type: t.DType, Count: t.Len()}
	}
	return values
}

// newGPUMean returns the mean over the replicas of this process.
func newGPUMean(s *replicatedStepper) (*gpuMean, error) {
	mean, err := cuda.NewMean(s.ownGPUs(), s.values())
	if err != nil {
		return nil, err
	}
	return placed(s, mean), nil
}

// newSharedMean returns the mean over the replicas of all workers of a job.
func newSharedMean(s *replicatedStepper, w *workerGPUs, group peers.Group) (*gpuMean, error) {
	mean, err := cuda.NewSharedMean(w.devices, s.values(), group)
	if err != nil {
		return nil, err
	}
	g := placed(s, mean)
	g.workers = w
	return g, nil
}

// placed records where the applications find the means.
func placed(s *replicatedStepper, mean *cuda.Mean) *gpuMean {
	n := len(s.strategy.copies)
	g := &gpuMean{mean: mean, steps: make([]int64, n)}
	values := len(s.sums.dense) - 1
	for gpu := range n {
		at := make([]engine.Resident, values+2*len(s.layout.sparse))
		for i := range values {
			at[i] = mean.Place(gpu, i)
		}
		g.places = append(g.places, at)
	}
	return g
}

// collect takes the replicas' results for their batches.
func (g *gpuMean) collect(s *replicatedStepper, batches []Batch) error {
	loss := len(s.sums.dense) - 1
	for i, rep := range s.replicas {
		if i >= len(batches) {
			if err := g.mean.Clear(i); err != nil {
				return err
			}
			continue
		}
		if err := g.put(s, i); err != nil {
			return err
		}
		if i == 0 {
			s.sums.set(loss, rep.dense(loss))
		} else {
			addInto(s.sums.dense[loss], rep.dense(loss), 1)
		}
		if err := s.sums.join(rep, i, batches[i].Rows); err != nil {
			return err
		}
	}
	s.strategy.peers.ready(loss)
	return nil
}

// put issues the copies of a replica's dense results.
func (g *gpuMean) put(s *replicatedStepper, i int) error {
	for j, t := range s.sums.dense[:len(s.sums.dense)-1] {
		at, err := s.replicas[i].program.Place(s.layout.dense[j])
		if err == nil {
			err = g.mean.Put(i, j, at, len(t.Bytes))
		}
		if err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
	}
	return nil
}

// take computes the means over the replicas that had data.
func (g *gpuMean) take(ctx context.Context, s *sums) error {
	n := int(s.replicas())
	if g.workers == nil {
		return g.mean.Take(ctx, n)
	}
	if err := g.workers.take(ctx, g.mean, n); err != nil || s.stop() == GoOn {
		return err
	}
	return g.workers.confirm(ctx)
}

// apply updates every copy of the variables by the means.
func (g *gpuMean) apply(ctx context.Context, s *replicatedStepper) (int64, error) {
	if err := g.take(ctx, s.sums); err != nil {
		return 0, s.strategy.peers.abort(err)
	}
	n := s.sums.replicas()
	divide(s.sums.loss(), n)
	for _, j := range s.sums.sparse {
		divide(j.rows, n)
	}
	rows := s.sums.batch()
	s.feeds = s.sums.feeds(s.feeds, rows)
	limit := s.strategy.config.InterOp
	if len(s.updates[0].program.HostSteps()) > 0 { // they share the feeds' memory on the host
		limit = 1
	}
	err := together(len(s.updates), limit, func(i int) (err error) {
		g.steps[i], err = s.updates[i].runOn(ctx, rows, s.feeds, g.places[i])
		return err
	})
	return g.steps[0], err
}

func (g *gpuMean) close() error { return g.mean.Close() }
