package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	"gocloud.dev/blob"
)

// Limits on what is read from a bucket.
const (
	maxVersions = 10_000
	maxObjects  = 10_000 // of a version
)

// object is a file of a version.
type object struct {
	path string // relative to the version's folder
	size int64
	time time.Time
	md5  []byte // nil: the store has none
}

func (o object) equal(x object) bool {
	return o.path == x.path && o.size == x.size && o.time.Equal(x.time) && bytes.Equal(o.md5, x.md5)
}

// listing is the list of a version's objects in a bucket.
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
	err := bucket.Each(ctx, b, blob.ListOptions{Prefix: prefix, Delimiter: "/"}, func(o *blob.ListObject) error {
		name := strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/")
		n, err := strconv.ParseInt(name, 10, 64)
		if !o.IsDir || err != nil || n < 0 {
			return nil
		}
		if at, ok := out[n]; ok && at < o.Key {
			return nil // 07 beside 7
		}
		if out[n] = o.Key; len(out) > maxVersions {
			return fmt.Errorf("more than %d versions below %s", maxVersions, prefix)
		}
		return nil
	})
	return out, err
}

// list lists the objects of a version, whose prefix ends with a slash.
func list(ctx context.Context, b *blob.Bucket, prefix string) (listing, error) {
	var out listing
	err := bucket.Each(ctx, b, blob.ListOptions{Prefix: prefix}, func(o *blob.ListObject) error {
		if strings.HasSuffix(o.Key, "/") {
			return nil // an empty object that marks a folder
		}
		path := strings.TrimPrefix(o.Key, prefix)
		if !filepath.IsLocal(path) || filepath.ToSlash(filepath.Clean(path)) != path || strings.Contains(path, `\`) {
			return fmt.Errorf("object %q: expected a name that is a file below %s", o.Key, prefix)
		}
		if out = append(out, object{path, o.Size, o.ModTime, o.MD5}); len(out) > maxObjects {
			return fmt.Errorf("more than %d objects below %s", maxObjects, prefix)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b object) int { return strings.Compare(a.path, b.path) })
	return out, err
}
