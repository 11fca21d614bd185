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

// tableSuffixes are the extensions of files that are tables, unpacked.
var tableSuffixes = []string{".csv", ".tsv", ".jsonl", ".parquet", ".pq", ".arrow", ".feather", ".ipc"}

// IsFolder reports whether a folder of this machine is one of tables: all files below it are, of one kind, by their names.
func IsFolder(dir string) bool {
	files, err := inputs.Expand(dir)
	if err != nil {
		return false
	}
	kind := filepath.Ext(unpackedName(files[0]))
	return slices.Contains(tableSuffixes, kind) && !slices.ContainsFunc(files, func(file string) bool { return filepath.Ext(unpackedName(file)) != kind })
}

// unpackedName is the last element of a file's name without the extension of what packs it, in small letters.
func unpackedName(path string) string {
	name := strings.ToLower(inputs.BaseName(path))
	for _, ext := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// partsOf are the files of a table: one, or those that a folder or a glob stands for.
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

// followedBy makes the rows of further files follow those of the source. They have the same columns.
func (s *rowSource) followedBy(files []string, first string, open func(file string) (*rowSource, error)) {
	next, done, names := s.next, s.close, s.names
	repeated := func() int64 { return s.repeated } // by all files so far
	s.next = func() ([]string, error) {
		for {
			row, err := next()
			if s.repeated = repeated(); !errors.Is(err, io.EOF) || len(files) == 0 {
				return row, err
			}
			later, err := open(files[0])
			if errors.Is(err, io.EOF) { // which would look as the end of all
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

// openTexts opens texts that follow each other, with a line's end between them.
func openTexts(ctx context.Context, files []string) (text, error) {
	first, err := openText(ctx, files[0])
	if err != nil || len(files) == 1 {
		return first, err
	}
	j := &joinedTexts{ctx: ctx, present: first, files: files[1:]}
	return text{j, j}, nil
}

// joinedTexts opens each text when it is its turn.
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
	if n > 0 { // packed texts may end so
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

// foldersLeftOut are the keys of folders key=value that are no columns in files of that form.
func foldersLeftOut(files []string, form Form) (keys []string) {
	if form.Format == "parquet" || form.Format == "arrow" {
		return nil
	}
	for _, c := range inputs.PartitionColumns(files) {
		keys = append(keys, c.Name)
	}
	return keys
}
