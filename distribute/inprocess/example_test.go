package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/runconfig"
)

// The chief schedules steps on two workers. Between epochs one of them is killed, and started again.
func Example() {
	ctx := context.Background()
	program := func(ctx context.Context, rc runconfig.RunConfig) error {
		if rc.TaskType() == runconfig.PS {
			return distribute.Serve(ctx, rc, quiet)
		}
		l, err := newLine(rc, newBlocker())
		if err != nil {
			return err
		}
		return errors.Join(l.Work(ctx), l.Close(ctx))
	}
	cluster, err := inprocess.New(inprocess.Tasks{Chief: 1, Workers: 2, PS: 1}, program,
		runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server"}))
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	if err := cluster.Start(ctx, cluster.Tasks(runconfig.Worker, runconfig.PS)...); err != nil {
		log.Fatal(err)
	}
	if err := trainInEpochs(ctx, cluster); err != nil {
		log.Fatal(err)
	}
	// Output:
	// epoch 0: 10 steps
	// epoch 1: 20 steps
	// epoch 2: 30 steps
}

// trainInEpochs is the chief's loop.
func trainInEpochs(ctx context.Context, cluster *inprocess.Cluster) error {
	rc, err := cluster.RunConfig(inprocess.Task{Job: runconfig.Chief})
	if err != nil {
		return err
	}
	l, err := newLine(rc, newBlocker())
	if err != nil {
		return err
	}
	c, err := distribute.NewCoordinator(ctx, l.Strategy)
	if err != nil {
		return errors.Join(err, l.Close(ctx))
	}
	for epoch := range 3 {
		if err := l.steps(ctx, c, 10); err != nil {
			return err
		}
		steps, err := l.Variable("global_step")
		if err != nil {
			return err
		}
		fmt.Printf("epoch %d: %d steps\n", epoch, steps.Int(0))
		lost := inprocess.Task{Job: runconfig.Worker, Index: epoch % 2}
		if err := errors.Join(cluster.Kill(ctx, lost), cluster.Start(ctx, lost)); err != nil {
			return err
		}
	}
	return errors.Join(c.Close(ctx), l.Close(ctx), cluster.Wait(ctx))
}
