package sidecar

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// UntilFailure returns a context that ends when model_dir says that the chief has failed after
// since. Its cause is then a *distribute.EndError.
func UntilFailure(ctx context.Context, dir string, since time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	look := func() (distribute.End, bool) {
		s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
		if err != nil || s.Failed == nil {
			return distribute.End{}, false
		}
		return distribute.FailedEnd(s.Failed), true
	}
	ends := &distribute.Ends{Since: since, Look: look}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if end, ok := ends.Await(ctx); ok {
			cancel(&distribute.EndError{End: end})
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
