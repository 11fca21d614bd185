package bucket

import (
	"context"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/features"
	"gocloud.dev/blob"
)

// drivers are the features for the schemes of URLs.
var drivers = map[string]string{"s3": "s3", "gs": "gcs", "azblob": "azure"}

// Open opens the bucket of a URL with a driver that the program imports, such as gocloud.dev/blob/s3blob, which takes credentials and the
// endpoint from the environment. If the program has no driver for the scheme, the error names the build tag that adds it.
func Open(ctx context.Context, url string) (*blob.Bucket, error) {
	scheme, _, _ := strings.Cut(url, "://")
	if name, known := drivers[scheme]; known && !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		if err := features.Need(name); err != nil {
			return nil, err
		}
	}
	return blob.OpenBucket(ctx, url)
}

// ranged is the URL of a bucket for reading objects in parts: S3 has no checksums of parts, and the SDK would warn each time.
func ranged(url string) string {
	if !strings.HasPrefix(url, "s3://") {
		return url
	}
	mark := "?"
	if strings.Contains(url, mark) {
		mark = "&"
	}
	return url + mark + "response_checksum_validation=when_required"
}

// Shared opens each bucket once, so that its files share connections and credentials. It is safe for concurrent use; the zero value is ready.
type Shared struct {
	mu   sync.Mutex
	open map[string]*blob.Bucket
}

// Open returns the bucket of a URL, which stays open.
func (s *Shared) Open(ctx context.Context, url string) (*blob.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.open[url]; b != nil {
		return b, nil
	}
	b, err := Open(ctx, ranged(url))
	if err != nil {
		return nil, err
	}
	if s.open == nil {
		s.open = map[string]*blob.Bucket{}
	}
	s.open[url] = b
	return b, nil
}
