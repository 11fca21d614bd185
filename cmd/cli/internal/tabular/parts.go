package tabular

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
)

// tableSuffixes are the extensions of uncompressed table files.
var tableSuffixes = []string{".csv", ".tsv", ".jsonl", ".parquet", ".pq", ".arrow", ".feather", ".ipc"}

// IsFolder reports whether a local folder is a table: all files below it are tables of one kind, by their names.
func IsFolder(dir string) bool {
	files, err := inputs.Expand(dir)
	if err != nil {
		return false
	}
	kind := filepath.Ext(unpackedName(files[0]))
	return slices.Contains(tableSuffixes, kind) && !slices.ContainsFunc(files, func(file string) bool { return filepath.Ext(unpackedName(file)) != kind })
}

// unpackedName is the base name of a file in lower case, without the extension of a compression.
func unpackedName(path string) string {
	name := strings.ToLower(inputs.BaseName(path))
	for _, ext := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// partsOf returns the files of a table: the file itself, or the files that a folder or a glob stands for.
func partsOf(path string) ([]string, error) {
	glob := strings.ContainsAny(path, "*[")
	if !inputs.IsURL(path) {
		st, err := os.Stat(path)
		glob = err == nil && st.IsDir() || err != nil && (glob || strings.Contains(path, "?"))
	}
	if !glob {
		return []string{path}, nil
	}
	return inputs.Expand(path)
}

// followedBy appends the rows of further files, which have the same columns.
func (s *rowSource) followedBy(files []string, first string, open func(file string) (*rowSource, error)) {
	next, done, names := s.next, s.close, s.names
	repeated := func() int64 { return s.repeated } // in all files so far
	s.next = func() ([]string, error) {
		for {
			row, err := next()
			if s.repeated = repeated(); !errors.Is(err, io.EOF) || len(files) == 0 {
				return row, err
			}
			later, err := open(files[0])
			if errors.Is(err, io.EOF) { // io.EOF would look like the end of the table
				return nil, fmt.Errorf("%s is empty: expected a row of names, as in %s: remove it", files[0], first)
			}
			if err != nil {
				return nil, err
			}
			if !slices.Equal(later.names, names) {
				err := fmt.Errorf("%s has the columns %s, expected those of %s, %s: name files of the same columns", files[0], strings.Join(later.names, ", "), first, strings.Join(names, ", "))
				return nil, errors.Join(err, later.close())
			}
			if err := done(); err != nil {
				return nil, errors.Join(err, later.close())
			}
			before := s.repeated
			next, done, files = later.next, later.close, files[1:]
			repeated = func() int64 { return before + later.repeated }
		}
	}
	s.close = func() error { return done() }
}

// openTexts opens a concatenation of texts, with a newline between them.
func openTexts(ctx context.Context, files []string) (text, error) {
	first, err := openText(ctx, files[0])
	if err != nil || len(files) == 1 {
		return first, err
	}
	j := &joinedTexts{ctx: ctx, present: first, files: files[1:]}
	return text{j, j}, nil
}

// joinedTexts opens each text when the one before ends.
type joinedTexts struct {
	ctx     context.Context
	present text
	files   []string
}

// Read implements io.Reader.
func (j *joinedTexts) Read(b []byte) (int, error) {
	n, err := j.present.Read(b)
	if !errors.Is(err, io.EOF) || len(j.files) == 0 || len(b) == 0 {
		return n, err
	}
	if n > 0 { // decompressors may return io.EOF with the last bytes
		return n, nil
	}
	next, err := openText(j.ctx, j.files[0])
	if err != nil {
		return 0, err
	}
	if err := j.present.Close(); err != nil {
		return 0, errors.Join(err, next.Close())
	}
	j.present, j.files = next, j.files[1:]
	b[0] = '\n'
	return 1, nil
}

// Close implements io.Closer.
func (j *joinedTexts) Close() error { return j.present.Close() }

// foldersLeftOut returns the keys of folders key=value that are not columns, because the format of the files has none from folders.
func foldersLeftOut(files []string, form Form) (keys []string) {
	if form.Format == "parquet" || form.Format == "arrow" {
		return nil
	}
	for _, c := range inputs.PartitionColumns(files) {
		keys = append(keys, c.Name)
	}
	return keys
}
