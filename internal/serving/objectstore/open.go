package objectstore

import (
	"context"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/features"
	"gocloud.dev/blob"
)

// drivers are the features that schemes of URLs need.
var drivers = map[string]string{"s3": "s3", "gs": "gcs", "azblob": "azure"}

// OpenBucket opens the bucket of a URL by the driver that the program imports, such as gocloud.dev/blob/s3blob, which takes credentials and
// the endpoint from the environment. Where the program has no driver for the scheme, the error names the build tag that adds one.
func OpenBucket(ctx context.Context, url string) (*blob.Bucket, error) {
	scheme, _, _ := strings.Cut(url, "://")
	if name, known := drivers[scheme]; known && !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		if err := features.Need(name); err != nil {
			return nil, err
		}
	}
	return blob.OpenBucket(ctx, url)
}
