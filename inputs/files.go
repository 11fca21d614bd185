package inputs

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Expand returns the files that names and globs match: the matches of each glob sorted, the names in the given order. ** in a glob matches any number
// of folders; a star matches no hidden folder. A folder, named or matched, stands for all files below it. Below a folder and in place of **, Expand
// skips hidden files and folders: names that begin with a dot, or with an underscore and have no "=". A name, folder or glob without a file is
// an error. Files may be URLs of objects, such as s3://bucket/part-*.parquet, with ** and folders as well; see IsURL.
func Expand(patterns ...string) ([]string, error) { return expandAll(context.Background(), patterns) }

func expandAll(ctx context.Context, patterns []string) ([]string, error) {
	var files []string
	for _, p := range patterns {
		found, err := expandOne(ctx, p)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errNoFiles
	}
	return files, nil
}

// expandOne returns the files of a glob or a name, which may look like a glob; at least one.
func expandOne(ctx context.Context, p string) (found []string, err error) {
	switch p, err = localName(p); {
	case err != nil:
		return nil, err
	case IsURL(p):
		found, err = expandObjects(ctx, p)
		slices.Sort(found)
	default:
		st, missing := os.Stat(p)
		switch {
		case missing == nil && st.IsDir():
			if found, err = filesBelow(p); err == nil && len(found) == 0 {
				err = &explained{fs.ErrNotExist, fmt.Sprintf("input %s is a folder without files: check data_dir and its name, or name files", p)}
			}
			return found, err
		case missing == nil || !strings.ContainsAny(p, "*?["):
			return []string{p}, checkFile(ctx, p)
		}
		if found, err = glob(p); err != nil {
			err = fmt.Errorf("bad file pattern %q: %w", p, err)
		}
	}
	if err == nil && len(found) == 0 {
		err = &explained{fs.ErrNotExist, fmt.Sprintf("no file matches %q: check data_dir and the pattern", p)}
	}
	return found, err
}

var errNoFiles = errors.New("no input files given: name at least one")

// checkFiles fails if there are no files, or one cannot be read.
func checkFiles(ctx context.Context, files []string) error {
	if len(files) == 0 {
		return errNoFiles
	}
	for _, name := range files {
		if IsURL(name) {
			continue
		}
		if err := checkFile(ctx, name); err != nil {
			return err
		}
	}
	_, err := sizes(ctx, files)
	return err
}

func checkFile(ctx context.Context, name string) error {
	if IsURL(name) {
		_, err := statObject(ctx, name)
		return err
	}
	name, err := localName(name)
	if err != nil {
		return err
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &explained{err, fmt.Sprintf("input file %s does not exist: check data_dir and the file name", name)}
	}
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	if st.IsDir() {
		return fmt.Errorf("input %s is a folder, expected a file: name the files in it, for example %s", name, filepath.Join(name, "*"))
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("input %s is a pipe or a device, expected a file, which is read more than once: write it to a file first; `goestimator predict --input -` alone reads rows as they come", name)
	}
	return nil
}

// file is an open file, decompressed if it is compressed.
type file struct {
	io.Reader
	f      seekable
	size   int64 // bytes on disk, compressed or not
	packed bool
	end    func() // frees the decompressor; nil: nothing to free
}

func (f *file) Close() error {
	if f.end != nil {
		f.end()
	}
	return f.f.Close()
}

// OpenFile opens a file or, by its URL, an object as inputs read it: decompressed if it is compressed with gzip, zstd or bzip2.
// Reading an object ends with ctx.
func OpenFile(ctx context.Context, name string) (io.ReadCloser, error) { return openFile(ctx, name) }

// openFile opens a file. It detects gzip, zstd and bzip2 by the first bytes, not by the name. Reading an object ends with ctx.
func openFile(ctx context.Context, name string) (*file, error) { return openUnless(ctx, name, nil) }

// openUnless is openFile, except that plain may decide, by the first bytes, that a file only
// looks compressed.
func openUnless(ctx context.Context, name string, plain func(head *bufio.Reader) bool) (*file, error) {
	f, size, err := openRaw(ctx, name)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(f, 64<<10)
	kind := packing(br)
	if kind == "" || plain != nil && plain(br) {
		return &file{Reader: br, f: f, size: size}, nil
	}
	out, err := unpack(br, kind)
	if err != nil {
		f.Close()
		return nil, fileError(name, "damaged %s file: %w", kind, err)
	}
	out.f, out.size = f, size
	return out, nil
}

// openRaw opens a file without decompressing it, and returns its size.
func openRaw(ctx context.Context, name string) (seekable, int64, error) {
	if IsURL(name) {
		open, v, err := openObject(ctx, name)
		if err == nil {
			err = checkSeen(ctx, name, v)
		}
		if err != nil {
			return nil, 0, err
		}
		return open(), v.Size, nil
	}
	if err := checkFile(ctx, name); err != nil {
		return nil, 0, err
	}
	path, err := localName(name)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open input: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fileError(name, "file cannot be read: %w", err)
	}
	return f, st.Size(), nil
}

// packing returns the compression of a text, "" if there is none.
func packing(head *bufio.Reader) string {
	switch {
	case startsWith(head, "\x1f\x8b"):
		return "gzip"
	case startsWith(head, "\x28\xb5\x2f\xfd"):
		return "zstd"
	case startsWith(head, "BZh?1AY&SY"):
		return "bzip2"
	}
	return ""
}

// startsWith reports whether a text begins with mark, in which ? matches any byte. It reads no byte after the first that differs.
func startsWith(text *bufio.Reader, mark string) bool {
	for i := range len(mark) {
		b, err := text.Peek(i + 1)
		if err != nil || mark[i] != '?' && b[i] != mark[i] {
			return false
		}
	}
	return true
}

// maxWindow bounds the memory of the zstd decoder in bytes.
const maxWindow = 1 << 28

func unpack(in io.Reader, kind string) (*file, error) {
	switch kind {
	case "zstd":
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return &file{Reader: r, packed: true, end: r.Close}, nil
	case "bzip2":
		return &file{Reader: bzip2.NewReader(in), packed: true}, nil
	}
	r, err := gzip.NewReader(in)
	return &file{Reader: r, packed: true}, err
}

// unmarked returns a text without a leading byte order mark.
func unmarked(in io.Reader) *bufio.Reader {
	br := bufio.NewReader(in)
	const mark = "\ufeff"
	if startsWith(br, mark) {
		_, _ = br.Discard(len(mark)) // Peek has already read them
	}
	return br
}

// readFile returns the decompressed content of a file.
func readFile(ctx context.Context, name string) ([]byte, error) {
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := maxUnpacked(f.size)
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fileError(name, "file cannot be read to its end, it may be cut short: %w", err)
	}
	if int64(len(data)) > most {
		return nil, fileError(name, "file of %d bytes unpacks to more than %d, which is all that is read into memory: unpack it first", f.size, most)
	}
	return data, nil
}

// seekable is an open file with random access.
type seekable interface {
	io.ReaderAt
	io.ReadSeeker
	io.Closer
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// openSeekable opens a file for random access; a compressed one is decompressed into memory.
func openSeekable(ctx context.Context, name string) (seekable, error) {
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	if f.packed {
		f.Close()
		data, err := readFile(ctx, name)
		return memoryFile{bytes.NewReader(data)}, err
	}
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fileError(name, "file cannot be read: %w", err)
	}
	return f.f, nil
}
