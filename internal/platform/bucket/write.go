package bucket

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// slowest is the lowest rate at which an object may be written, in bytes per second. Slower attempts are given up.
const slowest = 64 << 10

// Upload writes an object, which appears when it is complete and replaces any object of that name.
func Upload(ctx context.Context, b *blob.Bucket, key string, content io.ReadSeeker) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	err = retriedWithin(ctx, stall+time.Duration(size/slowest)*time.Second, func(ctx context.Context) error {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return b.Upload(ctx, key, content, &blob.WriterOptions{ContentType: "application/octet-stream"})
	})
	if gcerrors.Code(err) == gcerrors.NotFound {
		return errNoBucket
	}
	return Explain(err)
}

// CheckBucket returns an error if the bucket does not exist. A bucket that may not be listed passes: it may be writable.
func CheckBucket(ctx context.Context, b *blob.Bucket) error {
	ctx, stop := context.WithTimeout(ctx, stall)
	defer stop()
	if there, err := b.IsAccessible(ctx); err == nil && !there {
		return errNoBucket
	}
	return nil
}

var errNoBucket = fmt.Errorf("%w: the bucket does not exist: check its name and the region", fs.ErrNotExist)
