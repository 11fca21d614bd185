package inputs

import (
	"context"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// defaultCacheMB is how many MiB of objects a folder keeps where a config does not say it.
const defaultCacheMB = 10240

type objectCacheKey struct{}

// openCache opens the folder of a cache, once.
type openCache func() (*bucket.Cache, error)

// cacheIn returns what opens the folder that a context says, nil where it says none.
func cacheIn(ctx context.Context) openCache {
	open, _ := ctx.Value(objectCacheKey{}).(openCache)
	return open
}

// objectCacheOf is the folder where objects that are opened within a context are kept, nil where there is none. The first object makes it.
func objectCacheOf(ctx context.Context) (*bucket.Cache, error) {
	if open := cacheIn(ctx); open != nil {
		return open()
	}
	return nil, nil
}

// cacheObjects returns a context within which objects are kept where the input says.
func (s Spec) cacheObjects(ctx context.Context) context.Context {
	if s.Cache == "" {
		return ctx
	}
	size := s.CacheMB
	if size == 0 {
		size = defaultCacheMB
	}
	open := openCache(sync.OnceValues(func() (*bucket.Cache, error) { return bucket.OpenCache(s.Cache, int64(size)<<20) }))
	return context.WithValue(ctx, objectCacheKey{}, open)
}
