package inputs

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// defaultCacheMB is how many MiB of objects a folder keeps where a config does not say it.
const defaultCacheMB = 10240

type objectCacheKey struct{}

// objectCacheOf is the folder where objects that are opened within a context are kept, nil where there is none.
func objectCacheOf(ctx context.Context) *bucket.Cache {
	c, _ := ctx.Value(objectCacheKey{}).(*bucket.Cache)
	return c
}

// cacheObjects returns a context within which objects are kept where the input says.
func (s Spec) cacheObjects(ctx context.Context) (context.Context, error) {
	if s.Cache == "" {
		return ctx, nil
	}
	size := s.CacheMB
	if size == 0 {
		size = defaultCacheMB
	}
	c, err := bucket.OpenCache(s.Cache, int64(size)<<20)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, objectCacheKey{}, c), nil
}
