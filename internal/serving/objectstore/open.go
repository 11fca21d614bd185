package objectstore

import (
	"context"

	"gocloud.dev/blob"
)

// OpenBucket opens the bucket of a URL by the driver that the program imports, such as gocloud.dev/blob/s3blob, which takes credentials and
// the endpoint from the environment.
func OpenBucket(ctx context.Context, url string) (*blob.Bucket, error) {
	return blob.OpenBucket(ctx, url)
}
