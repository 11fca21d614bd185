package distribute

import (
	"context"
	"errors"
)

var _ Uploader = (*replicatedStepper)(nil)

// Ahead is 0 if the replicas compute on the host, and for elastic workers, whose rows of a step are known only when it
// begins.
func (s *replicatedStepper) Ahead() int {
	if s.strategy.config.Elastic.Enabled() || s.replicas[0].ahead == nil {
		return 0
	}
	return stepsAhead
}

// Prefetch begins to copy the batches of a step to the devices of their replicas.
func (s *replicatedStepper) Prefetch(_ context.Context, batches []Batch) error {
	var errs []error
	for i, b := range batches {
		errs = append(errs, s.replicas[i].ahead.prefetch(b))
	}
	return errors.Join(errs...)
}

// Forget implements Uploader.
func (s *replicatedStepper) Forget() error {
	var errs []error
	for _, r := range s.replicas {
		errs = append(errs, r.forget())
	}
	return errors.Join(errs...)
}
