package estimator

import (
	"context"
	"errors"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// pinnedShare bounds the memory that batches may lock to 1/pinnedShare of the machine's.
const pinnedShare = 8

// newPinnedPool returns a pool of page-locked memory of the strategy's device for batches; nil if ordinary memory is
// as fast.
func newPinnedPool(s distribute.Strategy) *device.PinnedPool {
	p, ok := s.(distribute.Pinning)
	if !ok {
		return nil
	}
	from := p.HostMemory()
	total, known := hostmemory.Total()
	if from == nil || !known {
		return nil
	}
	return device.NewPinnedPool(from, int(total/pinnedShare))
}

// withPinnedMemory returns a context for input passes whose batches go to the device.
func (s *session) withPinnedMemory(ctx context.Context) context.Context {
	if s.pinned == nil {
		return ctx
	}
	return inputs.WithBatchMemory(ctx, s.pinned)
}

// closeStrategy frees the variables and the device. Records of the input are in the device's memory, so the device
// stays open until all of them are released.
func (s *session) closeStrategy() error {
	if s.pinned == nil {
		return s.strategy.Close()
	}
	log, strategy := s.est.log, s.strategy
	err := s.pinned.Close(func(err error) {
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
