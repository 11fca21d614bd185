package inputs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// buckets are the buckets that files are read from. They stay open, with their connections and credentials.
var buckets bucket.Shared

// statsAtOnce is the number of objects whose metadata is read in parallel.
const statsAtOnce = 16

// IsURL reports whether the name of an input file is a URL of an object store, such as s3://bucket/train.csv. It is false for
// file:///data/train.csv, a local file.
func IsURL(name string) bool { return bucket.IsURL(name) }

// Join returns the path of a file in a folder, which may be a URL. Names that are URLs or absolute paths stay the same. A file named -
// becomes ./-, since - is standard input.
func Join(dir, name string) string {
	switch {
	case filepath.IsAbs(name) || strings.Contains(name, "://"):
		return name
	case !strings.Contains(dir, "://"):
		if name = filepath.Join(dir, name); name == StdinFile {
			name = "." + string(filepath.Separator) + name
		}
		return name
	}
	dir, query, parameters := strings.Cut(dir, "?")
	name = strings.TrimRight(dir, "/") + "/" + path.Clean(filepath.ToSlash(name))
	if parameters {
		name += "?" + query
	}
	return name
}

// BaseName returns the last element of a file's path; for a URL, unescaped.
func BaseName(name string) string {
	if !strings.Contains(name, "://") {
		return filepath.Base(name)
	}
	if u, err := url.Parse(name); err == nil {
		name = u.Path
	}
	return path.Base(name)
}

// localName returns the path of a local file, whose name may be a URL.
func localName(name string) (string, error) {
	local, err := bucket.Local(name)
	if err != nil {
		return "", fmt.Errorf("input %s: %w", name, err)
	}
	return local, nil
}

// statObject returns the version of an object.
func statObject(ctx context.Context, name string) (bucket.Version, error) {
	_, v, err := openObject(ctx, name)
	return v, err
}

// openObject returns a function that opens an object, and the object's version.
func openObject(ctx context.Context, name string) (open func() *bucket.File, v bucket.Version, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("input %s: %w", name, err)
		}
	}()
	at, err := bucket.ParseAny(name)
	if err != nil {
		return nil, v, err
	}
	if at.Path == "" {
		return nil, v, fmt.Errorf("this is a bucket, expected an object: name the objects in it, for example %s", at.Object("*"))
	}
	b, err := buckets.Open(ctx, at.Bucket)
	if err != nil {
		return nil, v, err
	}
	if v, err = bucket.Stat(ctx, b, at.Path); err != nil {
		return nil, v, err
	}
	cache, err := objectCacheOf(ctx)
	if err != nil {
		return nil, v, err
	}
	return func() *bucket.File {
		f := bucket.OpenFile(ctx, b, at.Path, v)
		f.Cached(cache, at.Object(at.Path))
		return f
	}, v, nil
}

// expandObjects returns the objects that a URL names, all objects below the folder that it names, or the matches of its pattern.
func expandObjects(ctx context.Context, pattern string) ([]string, error) {
	at, err := bucket.ParseAny(pattern)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", pattern, err)
	}
	if !bucket.IsGlob(at.Path) {
		if _, err := statObject(ctx, pattern); !errors.Is(err, bucket.ErrFolder) {
			return []string{pattern}, err
		}
	}
	b, err := buckets.Open(ctx, at.Bucket)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", pattern, err)
	}
	keys, err := matchingKeys(ctx, b, at.Path)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", pattern, err)
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = at.Object(key)
	}
	return names, nil
}

// matchingKeys returns the keys of the objects that match a pattern, or lie below a folder that matches, without hidden ones, like glob
// and filesBelow for files.
func matchingKeys(ctx context.Context, b *blob.Bucket, pattern string) ([]string, error) {
	parts := strings.Split(pattern, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, err
		}
	}
	root, prefix := slices.IndexFunc(parts, bucket.IsGlob), bucket.Start(pattern)
	if last := len(parts) - 1; root == last && parts[last] != "**" {
		found, folders, err := bucket.Glob(ctx, b, pattern)
		if err != nil || !folders {
			return found, err
		}
	}
	if root < 0 {
		root, prefix = len(parts), prefix+"/"
	}
	return bucket.Below(ctx, b, prefix, func(key string) bool { return matchesKey(parts, root, strings.Split(key, "/")) })
}

// matchesKey reports whether the parts of a key match the parts of a pattern, which are plain names up to root. A pattern without **
// may match a folder of the key.
func matchesKey(parts []string, root int, key []string) bool {
	if slices.Contains(parts, "**") {
		return len(key) > root && !slices.ContainsFunc(key[root:], hidden) && matches(parts, key)
	}
	n := len(parts)
	if len(key) < n || !matches(parts, key[:n]) || inHidden(path.Join(parts...), path.Join(key[:n]...)) {
		return false
	}
	return len(key) == n || !slices.ContainsFunc(key[max(root, n-1):], hidden)
}

// sizes returns the sizes of files in bytes.
func sizes(ctx context.Context, files []string) ([]int64, error) {
	out := make([]int64, len(files))
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(statsAtOnce)
	for i, name := range files {
		if !IsURL(name) {
			path, err := localName(name)
			if err != nil {
				return nil, err
			}
			if st, err := os.Stat(path); err == nil {
				out[i] = st.Size()
			}
			continue
		}
		work.Go(func() error {
			v, err := statObject(within, name)
			out[i] = v.Size
			return err
		})
	}
	return out, work.Wait()
}

// seenObjects has the versions of the objects that a data set has opened: later passes must read the same versions.
type seenObjects struct {
	cache openCache // caches their blocks; nil: no cache
	mu    sync.Mutex
	of    map[string]bucket.Version
}

type seenKey struct{}

// newSeen returns the seenObjects of a data set made with ctx.
func newSeen(ctx context.Context) *seenObjects { return &seenObjects{cache: cacheIn(ctx)} }

// in returns a context whose files are compared with the versions seen before.
func (s *seenObjects) in(ctx context.Context) context.Context {
	if s.cache != nil {
		ctx = context.WithValue(ctx, objectCacheKey{}, s.cache)
	}
	return context.WithValue(ctx, seenKey{}, s)
}

// check fails if an object has changed since it was first seen.
func (s *seenObjects) check(name string, v bucket.Version) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.of[name]
	if ok && !before.Equal(v) {
		return fileError(name, "%w: expected %s, got %s", bucket.ErrChanged, before, v)
	}
	if s.of == nil {
		s.of = map[string]bucket.Version{}
	}
	s.of[name] = v
	return nil
}

// checkSeen compares an object with the version that the data set of ctx has seen.
func checkSeen(ctx context.Context, name string, v bucket.Version) error {
	if s, ok := ctx.Value(seenKey{}).(*seenObjects); ok {
		return s.check(name, v)
	}
	return nil
}
