package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Attempts at a request, and the pause before the second, which doubles. The drivers' own attempts are within each.
const (
	attempts   = 4
	firstPause = 50 * time.Millisecond
)

// stall is the longest time for a request.
const stall = 30 * time.Second

// Version identifies the content of an object.
type Version struct {
	ETag string // "": the store has none
	Size int64  // bytes
	Time time.Time
}

// Equal reports whether two versions have the same content, as far as the store tells.
func (v Version) Equal(x Version) bool {
	return v.ETag == x.ETag && v.Size == x.Size && v.Time.Equal(x.Time)
}

func (v Version) String() string {
	if v.ETag == "" {
		return fmt.Sprintf("%d bytes of %s", v.Size, v.Time.UTC().Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("%d bytes with ETag %s", v.Size, v.ETag)
}

// ErrChanged is the error for an object that is replaced while it is read.
var ErrChanged = errors.New("the object changed while it was in use: start again, and write new data under other names")

// ErrFolder is the error for the name of a folder.
var ErrFolder = fmt.Errorf("%w: this is a folder, expected an object: name the objects in it, for example with /*", fs.ErrNotExist)

// Stat returns the version of an object. The error wraps fs.ErrNotExist if the object does not exist.
func Stat(ctx context.Context, b *blob.Bucket, key string) (v Version, err error) {
	err = retried(ctx, func(ctx context.Context) error {
		a, err := b.Attributes(ctx, key)
		if err == nil {
			v = Version{a.ETag, a.Size, a.ModTime}
		}
		return err
	})
	if gcerrors.Code(err) == gcerrors.NotFound {
		return v, missing(ctx, b, key, err)
	}
	return v, Explain(err)
}

// missing says what does not exist, the bucket or the object, and whether the name is a folder's.
func missing(ctx context.Context, b *blob.Bucket, key string, err error) error {
	ctx, stop := context.WithTimeout(ctx, stall)
	defer stop()
	page, _, listed := b.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: key + "/"})
	switch {
	case gcerrors.Code(listed) == gcerrors.NotFound:
		return errNoBucket
	case listed == nil && len(page) > 0:
		return ErrFolder
	case listed == nil:
		return fmt.Errorf("%w: the bucket has no such object: check the name", fs.ErrNotExist)
	}
	return fmt.Errorf("%w: %w", fs.ErrNotExist, err) // listing may be forbidden
}

// Explain adds advice to an error of a store.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.PermissionDenied:
		return fmt.Errorf("%w: no permission: check the credentials of the environment, and what they allow: %w", fs.ErrPermission, err)
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// retried repeats a request that fails temporarily or takes too long.
func retried(ctx context.Context, request func(context.Context) error) error {
	return retriedWithin(ctx, stall, request)
}

func retriedWithin(ctx context.Context, most time.Duration, request func(context.Context) error) (err error) {
	pause := firstPause
	for n := 1; ; n++ {
		within, stop := context.WithTimeout(ctx, most)
		err = request(within)
		stop()
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || n == attempts || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func mayPass(err error) bool {
	if errors.Is(err, ErrChanged) {
		return false
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.FailedPrecondition, gcerrors.Unimplemented, gcerrors.Canceled:
		return false
	}
	return true
}

// readRange fills data with an object's bytes from an offset on.
func readRange(ctx context.Context, b *blob.Bucket, key string, v Version, at int64, data []byte) error {
	return retried(ctx, func(ctx context.Context) error {
		r, err := b.NewRangeReader(ctx, key, at, int64(len(data)), nil)
		if err != nil {
			return err
		}
		defer r.Close()
		if r.Size() != v.Size || !r.ModTime().IsZero() && !r.ModTime().Truncate(time.Second).Equal(v.Time.Truncate(time.Second)) {
			return fmt.Errorf("%w: expected %s, got %d bytes of %s", ErrChanged, v, r.Size(), r.ModTime().UTC().Format(time.RFC3339))
		}
		n, err := io.ReadFull(r, data)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the store sent %d bytes from byte %d on, expected %d", n, at, len(data)) // not io.EOF: the object continues
		}
		return err
	})
}
