package objectstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"
)

// parallel is how many objects of a version are read at the same time.
const parallel = 4

// spare is how much space on the disk is left for others, in bytes.
const spare = 256 << 20

// errChanged reports that a version was written to while it was read.
var errChanged = errors.New("its objects changed while they were read")

// download copies a version to dir, all or nothing: dir appears once all objects are there, each with the size and checksum of its listing.
func (s *Store) download(ctx context.Context, b *blob.Bucket, prefix string, l listing, dir string) (err error) {
	if err := s.room(l.size(), filepath.Dir(dir)); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".partial-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(parallel)
	for _, o := range l {
		work.Go(func() error {
			if err := copyObject(within, b, prefix+o.path, o, filepath.Join(tmp, filepath.FromSlash(o.path))); err != nil {
				return fmt.Errorf("%s: %w", o.path, err)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	again, err := list(ctx, b, prefix)
	if err != nil {
		return err
	}
	if !l.equal(again) {
		return errChanged
	}
	return os.Rename(tmp, dir)
}

// room returns an error if a version is too large for the limit, or for the disk.
func (s *Store) room(size int64, dir string) error {
	if size > s.o.MaxBytes {
		return fmt.Errorf("it has %d bytes, expected at most %d: see --model-cache-max-bytes", size, s.o.MaxBytes)
	}
	if free, ok := diskspace.Free(dir); ok && size > free-spare {
		return fmt.Errorf("it has %d bytes, and the disk of %s has %d left, and %d of these are not for models: see --model-cache-dir", size, dir, free, spare)
	}
	return nil
}

// copyObject copies an object to a file.
func copyObject(ctx context.Context, b *blob.Bucket, key string, o object, to string) (err error) {
	r, err := b.NewReader(ctx, key, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := md5.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, o.size+1))
	switch {
	case err != nil:
		return err
	case n != o.size:
		return fmt.Errorf("%w: got %d bytes or more, the list says %d", errChanged, n, o.size)
	case len(o.md5) == md5.Size && !bytes.Equal(o.md5, sum.Sum(nil)):
		return fmt.Errorf("MD5 is %x, the store says %x", sum.Sum(nil), o.md5)
	}
	return nil
}
