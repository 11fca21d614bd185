package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/bucket"
	"gocloud.dev/blob"
)

// bucketOf opens the bucket of an object's URL.
func (a *app) bucketOf(ctx context.Context, name string) (*blob.Bucket, bucket.Place, error) {
	at, err := bucket.ParseAny(name)
	if err == nil && at.Path == "" {
		err = errors.New("this is a bucket, expected an object in it")
	}
	if err != nil {
		return nil, at, err
	}
	b, err := a.buckets.Open(ctx, at.Bucket)
	return b, at, err
}

// checkPlace is checkFolder that also accepts URLs of objects.
func (a *app) checkPlace(ctx context.Context, flag, name string) error {
	if !inputs.IsURL(name) {
		return checkFolder(flag, name)
	}
	b, _, err := a.bucketOf(ctx, name)
	if err == nil {
		err = bucket.CheckBucket(ctx, b)
	}
	if err != nil {
		return usage(fmt.Errorf("%s %s: %w", flag, name, err))
	}
	return nil
}

// writePlace is writeFile that also writes objects: to a local file first, and from there to the bucket. The file remains if the upload
// fails.
func (a *app) writePlace(ctx context.Context, name string, write func(predictionWriter) (int64, error)) (int64, error) {
	if !inputs.IsURL(name) {
		return writeFile(name, write)
	}
	dir, err := os.MkdirTemp("", "goestimator-predictions-")
	if err != nil {
		return 0, err
	}
	local := filepath.Join(dir, "of"+filepath.Ext(inputs.BaseName(name)))
	n, err := writeFile(local, write)
	if err != nil {
		return n, errors.Join(err, os.RemoveAll(dir))
	}
	if err := a.upload(ctx, name, local); err != nil {
		return n, fmt.Errorf("write %s: %w; the predictions are kept in %s", name, err, local)
	}
	return n, os.RemoveAll(dir)
}

// upload writes a local file as an object.
func (a *app) upload(ctx context.Context, name, local string) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	b, at, err := a.bucketOf(ctx, name)
	if err != nil {
		return err
	}
	return bucket.Upload(ctx, b, at.Path, f)
}
