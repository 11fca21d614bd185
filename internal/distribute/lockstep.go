package distribute

import (
	"context"

	"github.com/goestimator/goestimator/models/optimizers"
)

// lockstep is the part of a step that tasks make together.
type lockstep interface {
	// rank is this task's number among them.
	rank() int
	// tasks is the number of tasks.
	tasks() int
	// begin starts the reduction of a step, to which this task contributes s.
	begin(ctx context.Context, s *sums, in Step) error
	// ready says that dense result i of this task is complete. The results of a task without
	// batches are complete from the beginning.
	ready(i int)
	// wait returns when s has the sums over all tasks.
	wait(ctx context.Context, s *sums) error
	// tally adds to t what the step function collected in all tasks. It is called after wait.
	tally(ctx context.Context, t *optimizers.Tally) error
	// abort ends a step that failed here, for all tasks, and returns why.
	abort(err error) error
}

// alone is the lockstep of a single task.
type alone struct{}

func (alone) rank() int                                { return 0 }
func (alone) tasks() int                               { return 1 }
func (alone) begin(context.Context, *sums, Step) error { return nil }
func (alone) ready(int)                                {}
func (alone) wait(context.Context, *sums) error        { return nil }
func (alone) tally(context.Context, *optimizers.Tally) error {
	return nil
}
func (alone) abort(err error) error { return err }
