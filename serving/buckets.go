package serving

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/objectstore"
)

// newStore makes the store that copies models from buckets.
func (s *Server) newStore() *objectstore.Store {
	l := s.o.Loading
	o := objectstore.Options{Dir: l.CacheDir, MaxBytes: l.CacheMaxBytes, Open: l.openBucket, Pick: manager.Pick, Log: s.o.Log}
	if o.Open == nil {
		o.Open = bucket.Open
	}
	return objectstore.New(o)
}

// pollStore copies new versions of models in buckets, until ctx ends.
func (s *Server) pollStore(ctx context.Context) {
	if s.o.Loading.Poll <= 0 {
		return
	}
	tick := time.NewTicker(s.o.Loading.Poll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s.store.Poll(ctx, s.models.Config())
	}
}

func (s *Server) closeStore() error {
	if s.store == nil { // New failed before it made the store
		return nil
	}
	return s.store.Close()
}
