package inputs

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/format/npz"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// NPY returns NumPy array files as the columns of one table: each file is a column, and the first dimension is the row. Columns in o
// belong to the files, in order; without them a column is named after its file, without the extension. If o leaves out
// labels, their files may be left out, too.
//
// Rows are read by number, on demand, so o.Damaged leaves out none; Open does. Arrays of several dimensions in Fortran order, or in compressed files, are read into memory.
func NPY(files []string, o ArrowOptions) (Indexed, error) {
	return arraysOfNPY(context.Background(), files, o)
}

func arraysOfNPY(ctx context.Context, files []string, o ArrowOptions) (Indexed, error) {
	if len(files) == 0 {
		return nil, errNoFiles
	}
	specs, files, err := npyColumns(files, o)
	if err != nil {
		return nil, err
	}
	o.Columns = specs
	part := &arrayPart{}
	for i, file := range files {
		if specs[i].Role == Ignore || specs[i].Role == Label && o.Unlabeled {
			continue
		}
		f, err := openSeekable(context.WithoutCancel(ctx), file) // stays open as long as the data set
		if err != nil {
			return nil, err
		}
		a, err := openNPY(f)
		if err != nil {
			f.Close()
			return nil, unreadArray(ctx, file, "npy", "a NumPy array", err)
		}
		a.Name = specs[i].Name
		part.add(a, file)
	}
	return newArrayTable("npy", files, []*arrayPart{part}, o)
}

// npyColumns pairs the files with columns, without labels that are not read.
func npyColumns(files []string, o ArrowOptions) ([]ColumnSpec, []string, error) {
	specs := slices.Clone(o.Columns)
	if len(specs) == 0 {
		for _, file := range files {
			specs = append(specs, ColumnSpec{Name: columnOfFile(file)})
		}
	}
	if o.Unlabeled {
		label := func(s ColumnSpec) bool { return s.Role == Label }
		if features := slices.DeleteFunc(slices.Clone(specs), label); len(files) == len(features) {
			return features, files, nil
		}
	}
	if len(specs) != len(files) {
		return nil, nil, fmt.Errorf("%d files of format npy for %d columns: each file is a column, in their order; name as many", len(files), len(specs))
	}
	return specs, files, nil
}

// columnOfFile returns the name of a file without folder and extensions.
func columnOfFile(file string) string {
	name := path.Base(filepath.ToSlash(file))
	if k := strings.Index(name, ".npy"); k > 0 {
		return name[:k]
	}
	return name
}

func openNPY(f seekable) (*npz.Array, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	return npz.Open(f, size)
}

// NPZ returns the arrays of NumPy archives as columns: each array is a column, and its first dimension is the row. The rows of several
// archives follow each other. Columns in o choose among the arrays; without them all arrays are read.
//
// Rows of uncompressed arrays are read by number, on demand. Arrays of numpy.savez_compressed, and arrays with more than one
// dimension in Fortran order, are read into memory.
func NPZ(files []string, o ArrowOptions) (Indexed, error) {
	return arraysOfNPZ(context.Background(), files, o)
}

func arraysOfNPZ(ctx context.Context, files []string, o ArrowOptions) (Indexed, error) {
	if len(files) == 0 {
		return nil, errNoFiles
	}
	var parts []*arrayPart
	for _, file := range files {
		p, err := openNPZ(ctx, file, o)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return newArrayTable("npz", files, parts, o)
}

func openNPZ(ctx context.Context, file string, o ArrowOptions) (*arrayPart, error) {
	f, err := openSeekable(context.WithoutCancel(ctx), file) // stays open as long as the data set
	if err != nil {
		return nil, err
	}
	arrays, err := npzArrays(f)
	if err != nil {
		f.Close()
		return nil, unreadArray(ctx, file, "npz", "a NumPy archive of arrays", err)
	}
	p := &arrayPart{}
	for _, a := range arrays {
		wanted := slices.ContainsFunc(o.Columns, func(s ColumnSpec) bool {
			return s.Name == a.Name && s.Role != Ignore && (s.Role != Label || !o.Unlabeled)
		})
		if wanted || len(o.Columns) == 0 {
			p.add(a, file)
		}
	}
	return p, nil
}

func npzArrays(f seekable) ([]*npz.Array, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, size)
	if head := make([]byte, 4); errors.Is(err, zip.ErrFormat) {
		if _, unread := f.ReadAt(head, 0); unread == nil && string(head) == "PK\x03\x04" {
			return nil, errCutArchive
		}
	}
	if err != nil {
		return nil, err
	}
	if !npz.Has(z) {
		return nil, errNoArrays
	}
	return npz.Arrays(z, f)
}

var errCutArchive = errors.New("it begins as an archive, and the list of its arrays at the end is missing: it is cut short; get it again")

var errNoArrays = errors.New("it holds no file that ends in .npy")

// unreadArray returns the error of an array file that cannot be read.
func unreadArray(ctx context.Context, file, format, expected string, err error) error {
	if errors.Is(err, errCutArchive) {
		return fileError(file, "%w", err)
	}
	if format == "npz" && errors.Is(err, tensorfile.ErrFormat) {
		return fileError(file, "%w: write arrays of numbers or bools with numpy.savez", err)
	}
	if other := mistakenFile(ctx, file, format, expected); other != nil {
		return other
	}
	if errors.Is(err, tensorfile.ErrFormat) {
		return fileError(file, "%w: write an array of numbers or bools with numpy.save", err)
	}
	return notA(ctx, file, format, expected, err)
}

// arrayPart is a run of rows: arrays of equal length.
type arrayPart struct {
	columns []*npz.Array
	files   []string // file of each column
}

func (p *arrayPart) add(a *npz.Array, file string) {
	p.columns, p.files = append(p.columns, a), append(p.files, file)
}

// schema returns the Arrow schema of the arrays.
func (p *arrayPart) schema() (*arrow.Schema, error) {
	var fields []arrow.Field
	for i, a := range p.columns {
		if len(a.Shape) == 0 {
			return nil, &DataError{File: p.files[i], Name: a.Name, Err: errors.New("the array is a single number, expected a first dimension that counts rows: name the arrays to read under columns")}
		}
		if a.Rows() != p.columns[0].Rows() {
			return nil, &DataError{File: p.files[i], Name: a.Name, Err: fmt.Errorf("the array has %d rows, column %q has %d: write arrays of equal length, or name those to read under columns", a.Rows(), p.columns[0].Name, p.columns[0].Rows())}
		}
		c := Column{Name: a.Name, DType: a.DType, Shape: a.Shape[1:], Role: Feature}
		err := c.validate()
		var f arrow.Field
		if err == nil {
			f, err = c.field()
		}
		if err != nil {
			return nil, &DataError{File: p.files[i], Err: fmt.Errorf("%w: convert the array, or leave the column out", err)}
		}
		fields = append(fields, f)
	}
	return arrow.NewSchema(fields, nil), nil
}

// arrayTable is a sequence of parts whose rows follow each other.
type arrayTable struct {
	parts   []*arrayPart
	ends    []int64
	raw     *arrow.Schema
	conform *conformer
}

func newArrayTable(format string, files []string, parts []*arrayPart, o ArrowOptions) (Indexed, error) {
	t := &arrayTable{parts: parts}
	total := int64(0)
	for k, p := range parts {
		as, err := p.schema()
		if err != nil {
			return nil, err
		}
		c, err := newConformer(as, o)
		if err == nil && k > 0 && (!c.schema.Equal(t.conform.schema) || !as.Equal(t.raw)) {
			err = fmt.Errorf("it has the columns %s, the first file %s: name files of one schema", c.schema, t.conform.schema)
		}
		if err != nil {
			return nil, &DataError{File: files[k], Err: err}
		}
		if k == 0 {
			t.raw, t.conform = as, c
		}
		if len(p.columns) > 0 {
			total += int64(p.columns[0].Rows())
		}
		t.ends = append(t.ends, total)
	}
	if total == 0 && len(t.conform.schema.columns) > 0 {
		return nil, fmt.Errorf("%w: no row in %s", ErrEmpty, baseNames(files))
	}
	src := o.origin()
	src.files = files
	n := &node{schema: t.conform.schema, mem: alloc(o.Allocator), origin: src, desc: fmt.Sprintf("%s(%s)[%s]", format, baseNames(files), t.conform.schema)}
	n.place = func(row int64) DataError {
		k, at := locateRow(t.ends, row)
		return DataError{File: files[min(k, len(files)-1)], Row: at + 1}
	}
	return newIndexed(n, total, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		return t.gather(memoryOf(ctx, n.mem), rows)
	}), nil
}

// gather reads rows; consecutive rows are read together.
func (t *arrayTable) gather(mem memory.Allocator, rows []int64) (arrow.Record, error) {
	spans := locate(t.ends, rows)
	columns := make([]arrow.Array, 0, len(t.parts[0].columns))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, f := range t.raw.Fields() {
		b, err := t.read(mem, i, spans, len(rows))
		if err != nil {
			return nil, err
		}
		columns = append(columns, denseArray(f.Type, len(rows), b))
		b.Release()
	}
	raw := array.NewRecord(t.raw, columns, int64(len(rows)))
	defer raw.Release()
	rec, err := t.conform.record(raw, 0)
	if err != nil {
		return nil, t.explain(raw, rows, err)
	}
	return rec, nil
}

// read returns the elements of a column in the given rows.
func (t *arrayTable) read(mem memory.Allocator, column int, spans []span, rows int) (*memory.Buffer, error) {
	first := t.parts[0].columns[column]
	size := tensor.NumElements(first.Shape[1:]) * first.DType.Size()
	b := newBuffer(mem, rows*size)
	dst := b.Bytes()
	for _, s := range spans {
		part := t.parts[s.chunk]
		if err := part.columns[column].ReadRows(dst[:s.n*size], s.start); err != nil {
			b.Release()
			return nil, &DataError{File: part.files[column], Row: int64(s.start) + 1, Name: first.Name, Err: err}
		}
		dst = dst[s.n*size:]
	}
	if first.DType != tensor.Bool {
		return b, nil
	}
	defer b.Release()
	return bitsOf(mem, b.Bytes()), nil
}

// bitsOf packs bytes of 0 and 1 into Arrow's bits.
func bitsOf(mem memory.Allocator, bools []byte) *memory.Buffer {
	out := newBuffer(mem, int(bitutil.BytesForBits(int64(len(bools)))))
	bits := out.Bytes()
	clear(bits)
	for i, v := range bools {
		if v != 0 {
			bitutil.SetBit(bits, i)
		}
	}
	return out
}

// explain finds the value that cannot be converted, and returns its error.
func (t *arrayTable) explain(raw arrow.Record, rows []int64, err error) error {
	for c, column := range t.conform.columns {
		i := raw.Schema().FieldIndices(column.out.Name)[0]
		for r, row := range rows {
			k, at := locateRow(t.ends, row)
			one := array.NewSlice(raw.Column(i), int64(r), int64(r)+1)
			value, failed := column.convert(t.conform.mem, one, t.conform.schema.Arrow().Field(c).Type, at)
			one.Release()
			if failed != nil {
				return &DataError{File: t.parts[k].files[i], Name: column.out.Name, Err: failed}
			}
			value.Release()
		}
	}
	return err
}
