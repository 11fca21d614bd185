package inputs

import (
	"context"
	"encoding/csv"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/format/delimited"
)

// csvBytes is the size of a block of text: its columns stay in the caches of a processor.
const csvBytes = 256 << 10

// csvFile reads the rows of one CSV file in blocks, several at a time. Where a row is wrong, a csvReader takes over, which reads row
// by row and knows what is wrong.
type csvFile struct {
	cutter
	format *csvFormat
	name   string
	ctx    context.Context // of the pass
	plan   *csvPlan
	text   *csvText
	file   io.Closer
	lead   []byte // rows to read first
	ahead  *csvAhead
	rows   int64 // in the blocks that were read
	given  int64 // rows delivered or skipped
	wrong  bool  // the row after them cannot be read in blocks
	slow   *csvReader
	parser *csvBlockParser
}

// openBlocks opens a file for reading in blocks where its format allows that.
func (f *csvFormat) openBlocks(ctx context.Context, name string) (rowReader, error) {
	probe, err := f.open(ctx, name)
	if err != nil {
		return nil, err
	}
	begin := int64(0)
	if in, ok := probe.csv.(*csv.Reader); ok {
		begin = in.InputOffset()
	}
	_, _ = probe.next() // says whether there are labels; an error is found again
	plan := probe.plan()
	if err := probe.close(); err != nil {
		return nil, err
	}
	if plan == nil {
		return f.open(ctx, name)
	}
	file, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	in := unmarked(file)
	if err := discard(in, begin); err != nil {
		file.Close()
		return nil, fileError(name, "file cannot be read to its end, it may be cut short: %w", err)
	}
	return &csvFile{format: f, name: name, ctx: ctx, plan: plan, file: file, parser: newCSVBlockParser(f, plan),
		text: &csvText{in: in, comment: plan.comment, longest: f.longest}}, nil
}

func discard(in io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, in, n)
	return err
}

func (r *csvFile) read(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := r.pull(ctx, limit, r.record)
	if err == nil {
		r.given += rec.NumRows()
	}
	return rec, err
}

// record returns the rows of the next block.
func (r *csvFile) record(ctx context.Context) (arrow.Record, error) {
	for !r.wrong {
		rec, whole, err := r.block(ctx)
		if err != nil {
			return nil, err
		}
		r.wrong = !whole
		if rec != nil {
			r.rows += rec.NumRows()
			return rec, nil
		}
	}
	if r.slow == nil {
		if err := r.takeOver(ctx, r.rows); err != nil {
			return nil, err
		}
	}
	return r.slow.read(ctx, 0)
}

// block returns the rows of the next block, nil where it has none. whole is false where there is a row that cannot be read in blocks.
func (r *csvFile) block(ctx context.Context) (rec arrow.Record, whole bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if r.ahead != nil {
		return r.ahead.next(ctx)
	}
	block := r.lead
	r.lead = nil
	if len(block) == 0 {
		if block, err = r.text.next(nil, csvBytes/4); err != nil {
			return nil, false, notWrong(err)
		}
	}
	rec, whole = r.parser.record(block)
	if whole && r.text.err == nil { // there is more to read
		r.ahead = readCSVAhead(r.text, r.format, r.plan)
	}
	return rec, whole, nil
}

// notWrong is the end of a file; another error is left to csvReader.
func notWrong(err error) error {
	if eof(err) {
		return err
	}
	return nil
}

// takeOver opens the file for reading row by row, behind the first rows.
func (r *csvFile) takeOver(ctx context.Context, rows int64) error {
	slow, err := r.format.open(r.ctx, r.name)
	if err != nil {
		return err
	}
	if err := slow.passOver(ctx, rows); err != nil {
		_ = slow.close() // the error to report is known
		return err
	}
	r.slow, r.wrong = slow, true
	return nil
}

func (r *csvFile) skip(ctx context.Context, n int64) error {
	if r.format.opts.Damaged != nil {
		return readPast(ctx, r, n)
	}
	for all := n; n > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := r.text.next(nil, csvBytes)
		if eof(err) {
			return err
		}
		rows, end, whole := r.parser.count(block, n)
		if err != nil || !whole {
			r.given, r.rows = all, all
			return r.takeOver(ctx, all)
		}
		r.lead = block[end:]
		n -= rows
		r.rows += rows
		r.given += rows
	}
	return nil
}

// placeOf implements placed.
func (r *csvFile) placeOf(column string, element int) DataError {
	d := DataError{File: r.name}
	slow, err := r.format.open(r.ctx, r.name)
	if err != nil {
		return d
	}
	defer slow.close()
	if slow.skip(r.ctx, r.given-1) != nil {
		return d
	}
	if rec, err := slow.read(r.ctx, 1); err == nil {
		rec.Release()
		d = slow.placeOf(column, element)
	}
	return d
}

func (r *csvFile) close() error {
	r.discard()
	if r.ahead != nil {
		r.ahead.close()
		r.ahead = nil
	}
	if r.slow != nil {
		_ = r.slow.close() // the file was read
		r.slow = nil
	}
	return r.file.Close()
}

// csvText cuts a text into blocks of whole rows.
type csvText struct {
	in      io.Reader
	comment byte
	longest int    // bytes of a row
	rest    []byte // of a row
	err     error  // of in, with which the text ends
}

// next returns the next block in buf, which grows where a row is longer: it ends with a line feed. The last may be cut within quotes.
// The error is io.EOF at the end, errLongRow, or that of the reader.
func (t *csvText) next(buf []byte, size int) ([]byte, error) {
	buf = append(buf[:0], t.rest...)
	t.rest = t.rest[:0]
	for size = max(size, 2*len(buf)); ; size *= 2 {
		if t.err == nil {
			have := len(buf)
			buf = append(buf, make([]byte, size-have)...)
			for have < len(buf) && t.err == nil { // io.ReadFull would make the end of the file out of a file that is cut short
				var n int
				n, t.err = t.in.Read(buf[have:])
				have += n
			}
			buf = buf[:have]
		}
		if eof(t.err) && len(buf) > 0 {
			if buf[len(buf)-1] != '\n' {
				buf = append(buf, '\n')
			}
			return buf, nil
		}
		n := delimited.Whole(buf, t.comment)
		if n > 0 {
			t.rest = append(t.rest, buf[n:]...)
			return buf[:n], nil
		}
		if t.err != nil {
			return nil, t.err
		}
		if len(buf) > t.longest {
			return nil, errLongRow
		}
	}
}
