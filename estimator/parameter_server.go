package estimator

import (
	"context"

	"github.com/goestimator/goestimator/internal/distribute"
)

// RunParameterServer serves this task's share of the variables until the chief
// reports that training is over. If ctx ends first, the error wraps ErrInterrupted.
func (e *Estimator) RunParameterServer(ctx context.Context) error {
	if _, err := e.strategy.InCluster(e.config.NumWorkers(), e.config.NumPS()); err != nil {
		return err
	}
	if err := fpConnect.Here(); err != nil {
		return err
	}
	return Interruption(ctx, distribute.Serve(ctx, e.config, e.log))
}

// releaseServers ends parameter servers that still wait though training is over.
func (e *Estimator) releaseServers(ctx context.Context, step int64) error {
	if !e.config.IsChief() || e.config.NumPS() == 0 {
		return nil
	}
	return distribute.Release(ctx, e.config, e.log, step)
}
