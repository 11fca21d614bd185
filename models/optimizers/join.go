package optimizers

import (
	"errors"
	"fmt"
)

// Join returns one TrainOp with the groups of several TrainOps of one program's functions,
// which must have different variables. Settings that are not per group must agree. A step
// function, or a loss scale that changes, cannot be joined.
func Join(ops ...*TrainOp) (*TrainOp, error) {
	if len(ops) == 0 {
		return nil, errors.New("join: expected at least one train op")
	}
	if len(ops) == 1 {
		return ops[0], nil
	}
	joined := *ops[0]
	joined.Groups, joined.Unreached, joined.Earlier = nil, nil, nil
	for i, op := range ops {
		if op.Step != nil || op.Scale != nil {
			return nil, fmt.Errorf("join: train op %d has a step function or a loss scale that changes: expected gradients of a loss scale that is a number", i)
		}
		if err := ops[0].agrees(op); err != nil {
			return nil, fmt.Errorf("join: train op %d: %w", i, err)
		}
		joined.Groups = append(joined.Groups, op.Groups...)
	}
	return &joined, nil
}
