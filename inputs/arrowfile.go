package inputs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// ArrowFile returns the rows of Arrow IPC files, in the file or the stream
// format, gzip or not.
func ArrowFile(files []string, o ArrowOptions) (Dataset, error) {
	return openRecords(context.Background(), "arrow", files, o, openArrow)
}

// recordOpener opens a file of records. It returns their schema and a reader of
// the wanted columns.
type recordOpener func(ctx context.Context, name string, want []string) (*recordFile, error)

// recordFile is an open file of records.
type recordFile struct {
	schema *arrow.Schema
	next   func(ctx context.Context) (arrow.Record, error) // io.EOF at the end
	jump   func(rows int64) (skipped int64, err error)     // skips whole blocks; nil: not supported
	stop   func() error
}

// openRecords returns the Dataset of files that hold Arrow records.
func openRecords(ctx context.Context, format string, files []string, o ArrowOptions, open recordOpener) (Dataset, error) {
	if len(files) == 0 {
		return nil, errNoFiles
	}
	want := make([]string, 0, len(o.Columns))
	for _, s := range kept(o.Columns) {
		want = append(want, s.Name)
	}
	var schema *Schema
	partitions := partitionColumns(o.Partitions, o.Columns)
	src := fileSource{files: files, damaged: o.Damaged, seen: newSeen(ctx), open: func(ctx context.Context, name string) (rowReader, error) {
		return newRecordReader(name, o, schema, func() (*recordFile, error) {
			f, err := open(ctx, name, want)
			if err != nil {
				return nil, err
			}
			return f.partitioned(name, partitions), nil
		})
	}}
	first, err := src.reader(ctx, files[0])
	if err != nil {
		return nil, err
	}
	schema = first.(*recordReader).conform.schema
	if err := first.close(); err != nil {
		return nil, err
	}
	return src.node(&node{schema: schema, mem: alloc(o.Allocator), origin: o.origin()}, format), nil
}

// recordReader reads rows of a recordFile in our schema.
type recordReader struct {
	name    string
	file    *recordFile
	conform *conformer
	damaged *Damaged
	pass    *livePass // set for a live source; nil: a row is known by its number in the file
	row     int64     // rows read so far from the file
	cutter
}

func newRecordReader(name string, o ArrowOptions, schema *Schema, open func() (*recordFile, error)) (_ *recordReader, err error) {
	defer recoverArrow(name, &err)
	f, err := open()
	if err != nil {
		return nil, err
	}
	c, err := newConformer(f.schema, o)
	if err == nil && schema != nil && !schema.Equal(c.schema) {
		err = fmt.Errorf("it has the columns %s, the first file %s: name files of one schema", c.schema, schema)
	}
	if err != nil {
		_ = f.stop() // the error to report is known
		return nil, &DataError{File: name, Err: err}
	}
	return &recordReader{name: name, file: f, conform: c, damaged: o.Damaged}, nil
}

func (r *recordReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	return r.cutter.pull(ctx, limit, r.record)
}

func (r *recordReader) record(ctx context.Context) (_ arrow.Record, err error) {
	defer recoverArrow(r.name, &err)
	raw, err := r.raw(ctx)
	if err != nil {
		return nil, err
	}
	defer raw.Release()
	parts, err := r.rows(raw, r.row)
	if err != nil {
		releaseAll(parts)
		return nil, err
	}
	r.row += raw.NumRows()
	if len(parts) == 0 {
		b := array.NewRecordBuilder(r.conform.mem, r.conform.schema.Arrow())
		defer b.Release()
		return b.NewRecord(), nil
	}
	return concat(r.conform.mem, r.conform.schema.Arrow(), parts)
}

// rows converts raw, which begins at row first of the file, without the damaged rows. It finds these by bisection.
func (r *recordReader) rows(raw arrow.Record, first int64) ([]arrow.Record, error) {
	rec, err := r.conform.record(raw, first)
	if err == nil {
		return []arrow.Record{rec}, nil
	}
	row := new(rowOfFile)
	if r.damaged == nil || !errors.As(err, &row) {
		return nil, &DataError{File: r.name, Err: err}
	}
	if raw.NumRows() == 1 {
		bad := &damagedRow{r.name, first, &DataError{File: r.name, Err: err}}
		if r.pass != nil {
			bad = r.pass.row(bad.err)
		}
		return nil, r.damaged.leaveOut(bad)
	}
	var parts []arrow.Record
	half := raw.NumRows() / 2
	for _, at := range [][2]int64{{0, half}, {half, raw.NumRows()}} {
		part := raw.NewSlice(at[0], at[1])
		good, err := r.rows(part, first+at[0])
		part.Release()
		parts = append(parts, good...)
		if err != nil {
			return parts, err
		}
	}
	return parts, nil
}

func (r *recordReader) raw(ctx context.Context) (arrow.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := r.file.next(ctx)
	switch told := new(DataError); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errors.ErrUnsupported):
		return nil, &DataError{File: r.name, Err: err}
	case errors.As(err, &told): // the source is no file
		return nil, err
	}
	if err != nil && !eof(err) {
		return nil, fileError(r.name, "file is damaged or cut short: %w", err)
	}
	return raw, err
}

func (r *recordReader) skip(ctx context.Context, n int64) (err error) {
	defer recoverArrow(r.name, &err)
	if r.damaged != nil {
		return readPast(ctx, r, n)
	}
	if r.file.jump != nil {
		if r.row, err = r.file.jump(n); err != nil {
			return fileError(r.name, "file is damaged: %w", err)
		}
		n -= r.row
	}
	for n > 0 {
		rec, err := r.read(ctx, int(min(n, chunkRows*chunkRows)))
		if err != nil {
			return err
		}
		n -= rec.NumRows()
		rec.Release()
	}
	return nil
}

func (r *recordReader) close() error {
	r.discard()
	return r.file.stop()
}

// arrowMagic begins a file of the IPC file format.
const arrowMagic = "ARROW1"

func openArrow(ctx context.Context, name string, _ []string) (*recordFile, error) {
	f, err := openSeekable(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := arrowRecords(f)
	if err != nil {
		f.Close()
		return nil, notA(ctx, name, "arrow", "an Arrow IPC file", err)
	}
	return r, nil
}

// arrowRecords reads a file of either format; closing the result closes f.
func arrowRecords(f seekable) (_ *recordFile, err error) {
	defer recoverArrow("arrow", &err)
	bound, err := boundedForFile(f)
	if err != nil {
		return nil, err
	}
	mark := make([]byte, len(arrowMagic))
	if _, err := f.ReadAt(mark, 0); err != nil || string(mark) != arrowMagic {
		if err := checkStream(f, bound.size); err != nil {
			return nil, err
		}
		if binary.LittleEndian.Uint32(mark) == arrowContinuation {
			return recordsOfMessages(textMessages(bufio.NewReader(f)), f.Close)
		}
		r, err := ipc.NewReader(f, ipc.WithAllocator(bound)) // of a version before 0.15
		if err != nil {
			return nil, err
		}
		next := func(context.Context) (arrow.Record, error) {
			bound.held.begin()
			return retained(r.Read())
		}
		return &recordFile{schema: r.Schema(), next: next, stop: func() error { r.Release(); return f.Close() }}, nil
	}
	if err := checkFooter(f, bound.size); err != nil {
		return nil, err
	}
	room := &dictionaryRoom{bounded: bound, left: bound.limit}
	r, err := ipc.NewFileReader(f, ipc.WithAllocator(room))
	if err != nil {
		return nil, err
	}
	room.open = true
	i := 0
	next := func(context.Context) (arrow.Record, error) {
		if i == r.NumRecords() {
			return nil, io.EOF
		}
		i++
		bound.held.begin()
		return r.RecordAt(i - 1)
	}
	return &recordFile{schema: r.Schema(), next: next, stop: func() error { return errors.Join(r.Close(), f.Close()) }}, nil
}

// retained takes a reference to a record that belongs to its reader.
func retained(rec arrow.Record, err error) (arrow.Record, error) {
	if err == nil {
		rec.Retain()
	}
	return rec, err
}
