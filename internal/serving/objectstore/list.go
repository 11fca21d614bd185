package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// Bounds of what is read of a bucket.
const (
	maxVersions = 10_000
	maxObjects  = 10_000 // of a version
)

// object is a file of a version.
type object struct {
	path string // relative to the version's folder
	size int64
	time time.Time
	md5  []byte // nil: the store does not say
}

func (o object) equal(x object) bool {
	return o.path == x.path && o.size == x.size && o.time.Equal(x.time) && bytes.Equal(o.md5, x.md5)
}

// listing is a version as it lies in a bucket.
type listing []object

func (l listing) equal(x listing) bool { return slices.EqualFunc(l, x, object.equal) }

// size is the sum of the objects' sizes.
func (l listing) size() (n int64) {
	for _, o := range l {
		n += o.size
	}
	return n
}

// versions lists the versions below a prefix: the "folders" whose names are numbers, by number.
func versions(ctx context.Context, b *blob.Bucket, prefix string) (map[int64]string, error) {
	out := map[int64]string{}
	it := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/")
		n, err := strconv.ParseInt(name, 10, 64)
		if !o.IsDir || err != nil || n < 0 {
			continue
		}
		if at, ok := out[n]; ok && at < o.Key {
			continue // 07 beside 7
		}
		if out[n] = o.Key; len(out) > maxVersions {
			return nil, fmt.Errorf("more than %d versions below %s", maxVersions, prefix)
		}
	}
}

// list lists the objects of a version, whose prefix ends with a slash.
func list(ctx context.Context, b *blob.Bucket, prefix string) (listing, error) {
	var out listing
	it := b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.SortFunc(out, func(a, b object) int { return strings.Compare(a.path, b.path) })
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(o.Key, "/") {
			continue // an empty object that stands for a folder
		}
		path := strings.TrimPrefix(o.Key, prefix)
		if !filepath.IsLocal(path) || filepath.ToSlash(filepath.Clean(path)) != path || strings.Contains(path, `\`) {
			return nil, fmt.Errorf("object %q: expected a name that is a file below %s", o.Key, prefix)
		}
		if out = append(out, object{path, o.Size, o.ModTime, o.MD5}); len(out) > maxObjects {
			return nil, fmt.Errorf("more than %d objects below %s", maxObjects, prefix)
		}
	}
}
