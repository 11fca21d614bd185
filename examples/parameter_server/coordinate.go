package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/tensor"
)

const stepsPerEpoch = 5

// coordinate runs on the chief: it trains in epochs and evaluates, and prints results to out.
func (p *program) coordinate(ctx context.Context, out io.Writer) error {
	c, err := distribute.NewCoordinator(ctx, p.Strategy)
	if err != nil {
		return err
	}
	err = p.printShards(out)
	if err == nil {
		err = p.trainEpochs(ctx, c, out)
	}
	if err == nil {
		err = p.lasting(ctx, func() error { return p.evaluate(ctx, c, out) })
	}
	return errors.Join(err, c.Close(ctx))
}

// lasting calls do, and calls it again from the newest checkpoint if parameter servers were lost.
func (p *program) lasting(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, distribute.ErrServersLost) && !errors.Is(err, distribute.ErrSessionLost) {
			return err
		}
		log.Printf("from the newest checkpoint: %v", err)
		if _, err := p.Restore(ctx); err != nil {
			return err
		}
	}
}

// printShards prints where the rows of the embedding are.
func (p *program) printShards(out io.Writer) error {
	all, err := p.Shards()
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Name != embeddings {
			continue
		}
		for _, s := range v.Shards {
			fmt.Fprintf(out, "%s %v on %s\n", s.Name, s.Shape, s.Task)
		}
	}
	return nil
}

// trainEpochs trains, and resumes in the epoch in which an earlier chief ended.
func (p *program) trainEpochs(ctx context.Context, c *distribute.Coordinator, out io.Writer) error {
	data := c.CreatePerWorkerDataset(p.data)
	for epoch := int(p.GlobalStep()) / stepsPerEpoch; epoch < p.epochs; epoch++ {
		err := p.lasting(ctx, func() error {
			values, err := p.trainEpoch(ctx, c, data)
			if err != nil {
				return err
			}
			return printAccuracy(ctx, out, fmt.Sprintf("epoch %d, %d steps", epoch, len(values)), p.accuracy)
		})
		if err != nil {
			return err
		}
	}
	return p.lasting(ctx, func() error {
		loss, err := c.Schedule(ctx, p.trainStep, data)
		if err != nil {
			return err
		}
		last, err := loss.Fetch(ctx)
		if err == nil {
			fmt.Fprintf(out, "final loss %.6f\n", last[0].Float(0))
		}
		return err
	})
}

// trainEpoch runs the steps of an epoch, saves a checkpoint, and returns the results of the steps.
func (p *program) trainEpoch(ctx context.Context, c *distribute.Coordinator, data *distribute.PerWorker) ([][]*tensor.Tensor, error) {
	if err := p.accuracy.Reset(ctx); err != nil {
		return nil, err
	}
	var values []*distribute.RemoteValue
	for range stepsPerEpoch {
		v, err := c.Schedule(ctx, p.trainStep, data)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if err := c.Join(ctx); err != nil {
		return nil, err
	}
	if _, err := p.Save(ctx); err != nil {
		return nil, err
	}
	return c.Fetch(ctx, values...)
}
