package manager

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// versionDir is a version directory below a base path.
type versionDir struct {
	number      int64
	dir         string
	fingerprint string // changes with the directory's content; "" if nobody asked for it
}

// scan returns the versions below base, the newest first: children whose name
// is a number. warn is called for what is left out.
func scan(name, base string, warn func(string)) ([]versionDir, error) {
	children, err := os.ReadDir(base)
	if err != nil {
		code := codes.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			code = codes.NotFound
		}
		return nil, status.Errorf(code, "Could not find base path %s for servable %s with error %v", base, name, err)
	}
	byNumber := map[int64]versionDir{}
	for _, c := range children {
		number, err := strconv.ParseInt(c.Name(), 10, 64)
		if err != nil || number < 0 {
			continue
		}
		dir := filepath.Join(base, c.Name())
		if !isDir(dir, c) {
			continue
		}
		if other, ok := byNumber[number]; ok {
			warn(fmt.Sprintf("Duplicate version directories detected. Version %d will be loaded from %s, %s will be ignored", number, dir, other.dir))
		}
		byNumber[number] = versionDir{number: number, dir: dir}
	}
	out := make([]versionDir, 0, len(byNumber))
	for _, v := range byNumber {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b versionDir) int { return cmp.Compare(b.number, a.number) })
	if len(out) == 0 {
		warn(noVersions(name, base))
	}
	return out, nil
}

// isDir reports whether a child is a folder, or a link to one.
func isDir(path string, c fs.DirEntry) bool {
	if c.Type()&fs.ModeSymlink == 0 {
		return c.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func noVersions(name, base string) string {
	return fmt.Sprintf("No versions of servable %s found under base path %s. Did you forget to name your leaf directory as a number (eg. '/1/')?", name, base)
}

// fingerprintLimit bounds how many files of a version directory are looked at.
const fingerprintLimit = 1000

// fingerprint is a digest of names, sizes and times of the files in dir, which may be a link. It tells
// whether a version that failed to load is worth another try.
func fingerprint(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // WalkDir does not follow links
	}
	h := fnv.New64a()
	n := 0
	// Walk's error does not matter: what cannot be read has no part in the digest.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > fingerprintLimit {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return strconv.FormatUint(h.Sum64(), 16)
}
