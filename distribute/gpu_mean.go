package distribute

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/device/cuda"
	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/gpus"
)

// gpuMean takes the means of dense gradients and updates over replicas on several
// GPUs of this process: they never come to the host. The loss, a scalar, and the
// rows of sparse gradients do.
type gpuMean struct {
	mean   *cuda.Mean
	places [][]engine.Resident // per copy, as the feeds of its application
	steps  []int64             // global steps that the applications told
	failed []error
}

// newGPUMean returns nil where the replicas do not each have a GPU, or other tasks
// take part, whose share comes through the host.
func newGPUMean(s *replicatedStepper) (*gpuMean, error) {
	r := s.strategy
	if _, ok := r.peers.(alone); !ok || s.function != nil || len(r.copies) < 2 || len(r.copies) != len(s.replicas) {
		return nil, nil
	}
	devs := gpus.Distinct(r.devices)
	if devs == nil {
		return nil, nil
	}
	values := make([]cuda.Value, len(s.sums.dense)-1)
	for i := range values {
		t := s.sums.dense[i]
		values[i] = cuda.Value{Type: t.DType, Count: t.Len()}
	}
	for _, rep := range s.replicas {
		if err := rep.program.Leave(s.layout.dense[:len(values)]...); err != nil {
			return nil, err
		}
	}
	mean, err := cuda.NewMean(devs, values)
	if err != nil {
		return nil, err
	}
	g := &gpuMean{mean: mean, steps: make([]int64, len(devs)), failed: make([]error, len(devs))}
	for gpu := range devs {
		at := make([]engine.Resident, len(values)+2*len(s.layout.sparse))
		for i := range values {
			at[i] = mean.Place(gpu, i)
		}
		g.places = append(g.places, at)
	}
	return g, nil
}

// collect takes what the replicas made of their batches.
func (g *gpuMean) collect(s *replicatedStepper, batches []Batch) error {
	if len(batches) == 0 {
		return nil
	}
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
			addInto(s.sums.dense[loss], rep.dense(loss))
		}
		if err := s.sums.join(rep, batches[i].Rows); err != nil {
			return err
		}
	}
	return g.mean.Take(len(batches))
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

// apply updates every copy of the variables by the means.
func (g *gpuMean) apply(ctx context.Context, s *replicatedStepper) (int64, error) {
	n := s.sums.replicas()
	divide(s.sums.loss(), n)
	for _, j := range s.sums.sparse {
		divide(j.rows, n)
	}
	rows := s.sums.batch()
	s.feeds = s.sums.feeds(s.feeds, rows)
	var all sync.WaitGroup
	for i, u := range s.updates {
		run := func() { g.steps[i], g.failed[i] = u.runOn(ctx, rows, s.feeds, g.places[i]) }
		if len(u.program.HostSteps()) > 0 { // they share the feeds' memory on the host
			run()
			continue
		}
		all.Go(run)
	}
	all.Wait()
	return g.steps[0], errors.Join(g.failed...)
}

func (g *gpuMean) close() error { return g.mean.Close() }
