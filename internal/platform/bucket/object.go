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

// Attempts at a request, and the pause before the second, which doubles. The drivers' own attempts come on top.
const (
	attempts   = 4
	firstPause = 50 * time.Millisecond
)

// stall is how long a request may take.
const stall = 30 * time.Second

// Version tells whether an object is still the same.
type Version struct {
	ETag string // "": the store has none
	Size int64  // bytes
	Time time.Time
}

// Equal reports whether two versions are of the same content, as far as the store tells.
func (v Version) Equal(x Version) bool {
	return v.ETag == x.ETag && v.Size == x.Size && v.Time.Equal(x.Time)
}

func (v Version) String() string {
	if v.ETag == "" {
		return fmt.Sprintf("%d bytes of %s", v.Size, v.Time.UTC().Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("%d bytes with ETag %s", v.Size, v.ETag)
}

// ErrChanged is the error of an object that is replaced while it is read.
var ErrChanged = errors.New("the object changed while it was in use: start again, and write new data under other names")

// ErrFolder is the error of a name that is a folder's.
var ErrFolder = fmt.Errorf("%w: this is a folder, expected an object: name the objects in it, for example with /*", fs.ErrNotExist)

// Stat returns the version of an object. The error wraps fs.ErrNotExist where there is none.
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

// missing tells what is not there: the bucket, or an object; a folder of this name is told, too.
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
	return fmt.Errorf("%w: %w", fs.ErrNotExist, err) // the names may not be listed
}

// Explain adds to an error of a store what can be done.
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

// retried repeats a request that fails for a reason that may pass, or takes too long.
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
			return fmt.Errorf("the store sent %d bytes from byte %d on, expected %d", n, at, len(data)) // no io.EOF: the object goes on
		}
		return err
	})
}
