package estimator

import (
	"context"
	"errors"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// lentShare is the part of the machine's memory that batches may lock: one in so many bytes.
const lentShare = 8

// newLender returns what lends the strategy's device's memory to batches; nil where ordinary memory is as good.
func newLender(s distribute.Strategy) *device.PinnedPool {
	p, ok := s.(distribute.Pinning)
	if !ok {
		return nil
	}
	from := p.HostMemory()
	total, known := device.HostMemory()
	if from == nil || !known {
		return nil
	}
	return device.NewPinnedPool(from, int(total/lentShare))
}

// lend returns a context for passes over the input whose batches go to the device.
func (s *session) lend(ctx context.Context) context.Context {
	if s.lender == nil {
		return ctx
	}
	return inputs.WithBatchMemory(ctx, s.lender)
}

// closeStrategy frees the variables and the device. Where somebody still holds a record of the input, that is put off until it is
// released: the record lies in the device's memory.
func (s *session) closeStrategy() error {
	if s.lender == nil {
		return s.strategy.Close()
	}
	log, strategy := s.est.log, s.strategy
	err := s.lender.Close(func(err error) {
		if err := errors.Join(err, strategy.Close()); err != nil {
			log.Warn("the device was not closed well", "error", err)
		}
	})
	if errors.Is(err, device.ErrPinnedInUse) {
		log.Warn("the device stays open until all records of the input are released", "why", err)
		return nil
	}
	return errors.Join(err, s.strategy.Close())
}
