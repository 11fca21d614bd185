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

// Limits on listing a bucket.
const (
	maxLooked = 1_000_000
	maxFound  = 100_000
)

// Each calls do for all objects and folders of a listing, page by page, until do fails.
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

// IsGlob reports whether a path has special characters of patterns. A question mark is not one: in a URL it ends the path.
func IsGlob(path string) bool { return strings.ContainsAny(path, "*[") }

// Start is the common prefix of all names that match a pattern.
func Start(pattern string) string {
	if first := strings.IndexAny(pattern, `*?[\`); first >= 0 {
		return pattern[:first]
	}
	return pattern
}

// Glob returns the keys of the objects that match a pattern of path.Match, sorted. They are in one folder: only the pattern's last element
// has special characters. Glob also reports whether folders match. The limits are Below's.
func Glob(ctx context.Context, b *blob.Bucket, pattern string) (found []string, folders bool, err error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, false, err
	}
	found, err = keys(ctx, b, blob.ListOptions{Prefix: Start(pattern), Delimiter: "/"}, func(key string) bool {
		name, isFolder := strings.CutSuffix(key, "/")
		match, _ := path.Match(pattern, name) // the pattern is valid
		folders = folders || match && isFolder
		return match
	})
	return found, folders, err
}

// Below returns the keys of the objects that begin with prefix and match, sorted, in any folder. More than a million listed names, or
// 100,000 matches, are an error.
func Below(ctx context.Context, b *blob.Bucket, prefix string, match func(key string) bool) ([]string, error) {
	return keys(ctx, b, blob.ListOptions{Prefix: prefix}, match)
}

// keys returns the matching keys of a listing, sorted. Folders, whose keys end in a slash, are left out, as are the objects that represent
// them.
func keys(ctx context.Context, b *blob.Bucket, o blob.ListOptions, match func(key string) bool) ([]string, error) {
	var found []string
	looked := 0
	err := Each(ctx, b, o, func(x *blob.ListObject) error {
		if looked++; looked > maxLooked {
			return fmt.Errorf("more than %d names begin with %q: begin the pattern with more of the names", maxLooked, o.Prefix)
		}
		if !match(x.Key) || strings.HasSuffix(x.Key, "/") {
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
