package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"gocloud.dev/blob"
)

// Bounds of what Glob reads of a bucket.
const (
	maxLooked = 1_000_000
	maxFound  = 100_000
)

// Each calls do for all objects and folders of a listing, which comes by pages, until do fails.
func Each(ctx context.Context, b *blob.Bucket, o blob.ListOptions, do func(*blob.ListObject) error) error {
	for it := b.List(&o); ; {
		found, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(found)
		}
		if err != nil {
			return err
		}
	}
}

// IsGlob reports whether a path has a character with a meaning in patterns. A question mark has none: in a URL it ends the path.
func IsGlob(path string) bool { return strings.ContainsAny(path, "*[") }

// Glob returns the keys of the objects that match a pattern of path.Match, sorted. It lists what begins as the pattern does: the folder
// alone where the pattern has special characters in its last element only. More than a million listed names, or 100,000 matches, are an error.
func Glob(ctx context.Context, b *blob.Bucket, pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	first := strings.IndexAny(pattern, `*?[\`)
	if first < 0 {
		first = len(pattern)
	}
	o := blob.ListOptions{Prefix: pattern[:first]}
	if !strings.Contains(pattern[first:], "/") {
		o.Delimiter = "/"
	}
	return keys(ctx, b, o, func(key string) bool {
		match, _ := path.Match(pattern, key) // well formed
		return match
	})
}

// Below returns the keys of the objects whose names begin with prefix, sorted, whatever folders they lie in. The bounds are Glob's.
func Below(ctx context.Context, b *blob.Bucket, prefix string) ([]string, error) {
	return keys(ctx, b, blob.ListOptions{Prefix: prefix}, func(string) bool { return true })
}

// keys returns the keys of a listing that match, sorted. Folders are none, nor are the objects that stand for folders.
func keys(ctx context.Context, b *blob.Bucket, o blob.ListOptions, match func(key string) bool) ([]string, error) {
	var found []string
	looked := 0
	err := Each(ctx, b, o, func(x *blob.ListObject) error {
		if looked++; looked > maxLooked {
			return fmt.Errorf("more than %d names begin with %q: begin the pattern with more of the names", maxLooked, o.Prefix)
		}
		if x.IsDir || strings.HasSuffix(x.Key, "/") || !match(x.Key) {
			return nil
		}
		if found = append(found, x.Key); len(found) > maxFound {
			return fmt.Errorf("more than %d objects match: name fewer, or write larger ones", maxFound)
		}
		return nil
	})
	slices.Sort(found)
	return found, Explain(err)
}
