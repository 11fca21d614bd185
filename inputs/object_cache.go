package inputs

import (
	"context"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// defaultCacheMB is the size of the cache folder in MiB if a config does not set it.
const defaultCacheMB = 10240

type objectCacheKey struct{}

// openCache opens the folder of a cache, once.
type openCache func() (*bucket.Cache, error)

// cacheIn returns the function of ctx that opens the cache, nil if ctx has none.
func cacheIn(ctx context.Context) openCache {
	open, _ := ctx.Value(objectCacheKey{}).(openCache)
	return open
}

// objectCacheOf returns the cache of objects opened with ctx, nil if there is none. The first object creates the folder.
func objectCacheOf(ctx context.Context) (*bucket.Cache, error) {
	if open := cacheIn(ctx); open != nil {
		return open()
	}
	return nil, nil
}

// cacheObjects returns a context with the cache that the input asks for.
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
