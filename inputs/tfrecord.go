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
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// TFRecord returns the rows of TFRecord files of serialized tf.train.Example
// messages, gzip or not. Columns are named after features; other features are
// skipped. Types need not equal the file's: a column takes every value that its
// dtype can hold, even from text. A feature that is absent, or has no list, is missing.
// Errors are *DataError with file, record and column. Errors of a damaged record
// wrap a *tfrecord.CorruptError with its offset.
func TFRecord(files []string, o ArrowOptions) (Dataset, error) {
	return recordsOfTFRecord(context.Background(), files, o)
}

func recordsOfTFRecord(ctx context.Context, files []string, o ArrowOptions) (Dataset, error) {
	f, err := newExampleFormat(o)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(ctx, files); err != nil {
		return nil, err
	}
	src := fileSource{files: files, damaged: o.Damaged, seen: newSeen(ctx), open: f.openBlocks}
	return src.node(&node{schema: f.schema, mem: f.mem, origin: o.origin()}, "tfrecord"), nil
}

// openExamples opens a file and decompresses it.
func openExamples(ctx context.Context, name string) (*file, error) {
	return openUnless(ctx, name, func(in *bufio.Reader) bool { head, _ := in.Peek(12); return startsRecord(head) })
}

// Bounds on the examples in one record batch: Arrow's offsets have 32 bits.
const (
	maxExample   = 1 << 30
	chunkExample = 8 << 20
)

// startsRecord reports whether a file begins with the header of a record; its
// first bytes may look like gzip's.
func startsRecord(head []byte) bool {
	return len(head) >= 12 && binary.LittleEndian.Uint32(head[8:]) == maskedcrc.Of(head[:8])
}

type exampleFormat struct {
	schema  *Schema
	mem     memory.Allocator
	fields  []textField
	names   *tfexample.Names // names of the fields
	damaged *Damaged
}

func newExampleFormat(o ArrowOptions) (*exampleFormat, error) {
	fields, schema, err := declared("tfrecord", o)
	if err != nil {
		return nil, err
	}
	f := &exampleFormat{schema: schema, mem: alloc(o.Allocator), fields: fields, damaged: o.Damaged}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.spec.Name
	}
	f.names = tfexample.NewNames(names)
	return f, nil
}

func (f *exampleFormat) reader(ctx context.Context, name string, in io.Reader, closer io.Closer) *exampleReader {
	return &exampleReader{format: f, ctx: ctx, name: name, closer: closer, largest: maxExample, found: make([][]byte, len(f.fields)), parsed: make([]feature, len(f.fields)),
		records: tfrecord.NewReader(bufio.NewReaderSize(in, 64<<10))}
}

// exampleReader reads the rows of one file.
type exampleReader struct {
	format  *exampleFormat
	ctx     context.Context // of the pass
	name    string
	records *tfrecord.Reader
	closer  io.Closer // nil in tests
	record  int       // records read so far
	found   [][]byte  // feature of the current example for each field; nil: absent
	parsed  []feature // their parsed form
	again   []byte    // the current example, if reading it was interrupted
	largest int       // most bytes of an example
	values  valueBuffer
	err     error // found after good rows, or io.EOF
}

// next returns the next example, valid until the next call.
func (r *exampleReader) next() ([]byte, error) {
	example, err := r.records.Next()
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, io.EOF
	}
	r.record++
	var corrupt *tfrecord.CorruptError
	if errors.As(err, &corrupt) && corrupt.Offset == 0 && !corrupt.Data {
		if other := mistakenFile(r.ctx, r.name, "tfrecord", "a TFRecord file"); other != nil {
			return nil, other
		}
	}
	switch {
	case errors.As(err, &corrupt) && corrupt.Offset == 0 && corrupt.Err == nil && !corrupt.Data:
		return nil, r.fail("", fmt.Errorf("this is not a TFRecord file, or it is damaged: %w", err))
	case errors.As(err, &corrupt) && corrupt.Data:
		return nil, r.damage("", fmt.Errorf("file is damaged: %w", orSkip(err, "get it again, or set on_error: skip")))
	case errors.As(err, &corrupt):
		return nil, r.fail("", fmt.Errorf("file is damaged or cut short: %w; get it again", err))
	case err != nil:
		return nil, r.fail("", fmt.Errorf("file cannot be read behind offset %d: %w", r.records.Offset(), err))
	case len(example) > r.largest:
		return nil, r.damage("", fmt.Errorf("example has %d bytes, expected at most %d", len(example), r.largest))
	}
	return example, nil
}

func (r *exampleReader) fail(column string, err error) error {
	return &DataError{File: r.name, Record: r.record, Name: column, Err: err}
}

func (r *exampleReader) damage(column string, err error) error {
	return &damagedRow{r.name, int64(r.record), r.fail(column, err)}
}

func (r *exampleReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	b := array.NewRecordBuilder(r.format.mem, r.format.schema.Arrow())
	defer b.Release()
	b.Reserve(min(limit, chunkRows))
	if r.err != nil {
		return nil, r.err
	}
	good, first := 0, r.records.Offset()
	reading := rowReading{mem: r.format.mem, damaged: r.format.damaged}
	rec, err := reading.rows(ctx, b, limit, func() error {
		if good > 0 && r.records.Offset()-first >= chunkExample {
			return errChunk
		}
		err := r.row(ctx, b)
		if err == nil {
			good++
		}
		return err
	})
	if err != errChunk && r.again == nil { // if it is set, the next call reads it again
		r.err = err
	}
	return orEnded(ctx, rec, err)
}

// errChunk ends a record batch that is large enough.
var errChunk = errors.New("examples make a record batch")

// row reads one example into the builder. If ctx ends, it writes nothing and keeps the example.
func (r *exampleReader) row(ctx context.Context, b *array.RecordBuilder) (err error) {
	example := r.again
	if r.again = nil; example == nil {
		if example, err = r.next(); err != nil {
			return err
		}
	}
	if err := r.parse(ctx, example); err != nil {
		if ctx.Err() != nil {
			r.again = example
			return ctx.Err()
		}
		return err
	}
	for i, f := range r.format.fields {
		if err := r.values.write(f, b.Field(i), r.parsed[i]); err != nil {
			return r.damage(f.spec.Name, err)
		}
	}
	return nil
}

// parse finds the features of the fields in an example.
func (r *exampleReader) parse(ctx context.Context, example []byte) error {
	clear(r.found)
	ok := tfexample.EachFeature(ctx, example, func(name, feature []byte) bool {
		if i := r.format.names.Find(name); i >= 0 {
			r.found[i] = feature
		}
		return true
	})
	if !ok {
		at := r.records.Offset() - int64(len(example)) - 4
		return r.damage("", fmt.Errorf("record is not a tf.train.Example (its data lies at offset %d): expected files of serialized examples", at))
	}
	for i, f := range r.format.fields {
		var err error
		if r.parsed[i], err = newFeature(ctx, r.found[i]); err != nil {
			return r.damage(f.spec.Name, err)
		}
	}
	return nil
}

func (r *exampleReader) skip(ctx context.Context, n int64) error {
	if r.format.damaged != nil {
		return readPast(ctx, r, n)
	}
	return r.passOver(ctx, n)
}

// passOver implements carefulReader.
func (r *exampleReader) passOver(ctx context.Context, n int64) error {
	if r.again != nil && n > 0 {
		r.again = nil
		n--
	}
	for i := range n {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

func (r *exampleReader) close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
