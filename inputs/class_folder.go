package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// contentOf lists the folders and files in a folder, local or in a bucket. Both are sorted, without hidden ones.
func contentOf(ctx context.Context, dir string) (folders, files []string, err error) {
	if IsURL(dir) {
		if folders, files, err = contentOfObjects(ctx, dir); err != nil {
			err = fmt.Errorf("%s: %w", dir, err)
		}
		return folders, files, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(dir, "*?[") {
		err = fmt.Errorf("%w: images and sounds are read from one folder, not by a glob: name the folder", err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case isFolder(dir, e):
			folders = append(folders, e.Name())
		case isFile(dir, e):
			files = append(files, e.Name())
		}
	}
	return folders, files, nil
}

func contentOfObjects(ctx context.Context, dir string) (folders, files []string, err error) {
	at, err := bucket.ParseAny(dir)
	if err != nil {
		return nil, nil, err
	}
	b, err := buckets.Open(ctx, at.Bucket)
	if err != nil {
		return nil, nil, err
	}
	o := blob.ListOptions{Delimiter: "/"}
	if at.Path != "" {
		o.Prefix = at.Path + "/"
	}
	err = bucket.Each(ctx, b, o, func(x *blob.ListObject) error {
		name := strings.TrimPrefix(x.Key, o.Prefix)
		switch folder, isDir := strings.CutSuffix(name, "/"); {
		case name == "" || name == "/" || strings.HasPrefix(name, "."): // the folder itself, and k//x
		case isDir && x.IsDir:
			folders = append(folders, folder)
		case !isDir:
			files = append(files, name)
		}
		return nil
	})
	if err == nil && len(folders)+len(files) == 0 {
		err = fmt.Errorf("%w: the bucket has no such folder: check the name", fs.ErrNotExist)
	}
	slices.Sort(folders)
	slices.Sort(files)
	return folders, files, bucket.Explain(err)
}

// inFolder returns the path of name in a folder, which may be a URL; name is not escaped.
func inFolder(dir, name string) string {
	if at, err := bucket.ParseAny(dir); err == nil && IsURL(dir) {
		return at.Object(path.Join(at.Path, name))
	}
	return filepath.Join(dir, name)
}

// belowFolder returns the path of a file relative to a folder, with slashes.
func belowFolder(dir, file string) string {
	if IsURL(file) {
		at, err := bucket.ParseAny(dir)
		u, other := url.Parse(file)
		if err == nil && other == nil {
			return strings.TrimPrefix(strings.TrimPrefix(u.Path, "/"+at.Path), "/")
		}
		return file
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		name = file
	}
	return filepath.ToSlash(name)
}

// folderOf returns the folder that a file lies in.
func folderOf(file string) string {
	if at, err := bucket.ParseAny(file); err == nil && IsURL(file) {
		if dir := path.Dir(at.Path); dir != "." {
			return at.Object(dir)
		}
		return at.Bucket
	}
	return filepath.Dir(file)
}

// isOneFile reports whether name is a file, not a folder. In a bucket, its extension decides.
func isOneFile(name string, suffixes []string) bool {
	if IsURL(name) {
		return hasSuffix(BaseName(name), suffixes)
	}
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// hasSuffix reports whether the extension of a file is one of suffixes, ignoring case.
func hasSuffix(name string, suffixes []string) bool {
	return slices.Contains(suffixes, strings.ToLower(path.Ext(name)))
}

// readUpTo returns the content of a file, local or in a bucket.
func readUpTo(ctx context.Context, name string, most int64) ([]byte, error) {
	if !IsURL(name) {
		f, err := atomicfile.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		if err == nil && int64(len(data)) > most {
			err = tooLarge(most)
		}
		return data, err
	}
	f, size, err := openRaw(ctx, name)
	if err != nil {
		return nil, &unreadObject{err}
	}
	defer f.Close()
	if size > most {
		return nil, tooLarge(most)
	}
	data := make([]byte, size)
	if _, err = io.ReadFull(f, data); err != nil {
		return nil, &unreadObject{err}
	}
	return data, nil
}

// unreadObject is the error of an object that its store cannot read: it may not be damaged.
type unreadObject struct{ error }

// Unwrap returns the error of the store.
func (e *unreadObject) Unwrap() error { return e.error }

func tooLarge(most int64) error {
	return fmt.Errorf("it has more than %d bytes, which is all that is read", most)
}
