package inputs

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// blockBytes is the size of a block, such that its columns stay in a processor's caches.
const blockBytes = 256 << 10

// blockFormat is a format whose files can be read in blocks.
type blockFormat interface {
	// openRows opens a file for reading row by row.
	openRows(ctx context.Context, name string) (carefulReader, error)
	newParser() blockParser
	leavesOut() *Damaged
}

// blockCutter cuts the bytes of a file into blocks of whole rows.
type blockCutter interface {
	// next returns the next block in buf, which grows if a row is longer than size. The error is io.EOF at the end; any other error
	// means that the rows after the last block have to be read one by one.
	next(buf []byte, size int) ([]byte, error)
	// more reports whether part of the file is still unread.
	more() bool
}

// blockParser reads the rows of blocks. It must not be used by several goroutines at once.
type blockParser interface {
	// record returns the rows of a block up to the first wrong one, nil if there are none. whole is false if a row is wrong.
	record(block []byte) (rec arrow.Record, whole bool)
	// count passes over at most most rows. It returns their number and their bytes.
	count(block []byte, most int64) (rows int64, n int, whole bool)
}

// carefulReader reads row by row, and says what is wrong with a row.
type carefulReader interface {
	rowReader
	placed
	// passOver skips n rows, none of which is damaged.
	passOver(ctx context.Context, n int64) error
}

// blockFile reads the rows of one file in blocks, several at a time. From the first wrong row on, a carefulReader reads the file.
type blockFile struct {
	cutter
	format blockFormat
	name   string
	ctx    context.Context // of the pass
	text   blockCutter
	file   io.Closer
	lead   []byte // rows to read first
	ahead  *blocksAhead
	rows   int64 // in the blocks that were read
	given  int64 // rows delivered or skipped
	wrong  bool  // the next row cannot be read in blocks
	slow   carefulReader
	parser blockParser
}

func newBlockFile(ctx context.Context, name string, file io.Closer, text blockCutter, f blockFormat) *blockFile {
	return &blockFile{format: f, name: name, ctx: ctx, text: text, file: file, parser: f.newParser()}
}

func (r *blockFile) read(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := r.pull(ctx, limit, r.record)
	if err == nil {
		r.given += rec.NumRows()
	}
	return rec, err
}

// record returns the rows of the next block.
func (r *blockFile) record(ctx context.Context) (arrow.Record, error) {
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

// block returns the rows of the next block, nil if it has none. whole is false if a row cannot be read in blocks.
func (r *blockFile) block(ctx context.Context) (rec arrow.Record, whole bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if r.ahead != nil {
		return r.ahead.next(ctx)
	}
	block := r.lead
	r.lead = nil
	if len(block) == 0 {
		if block, err = r.text.next(nil, blockBytes/4); err != nil {
			return nil, false, notWrong(err)
		}
	}
	rec, whole = r.parser.record(block)
	if whole && r.text.more() {
		r.ahead = readAhead(r.text, r.format, budgetOf(r.ctx))
	}
	return rec, whole, nil
}

// notWrong returns err at the end of the file. It drops other errors: the carefulReader will report them.
func notWrong(err error) error {
	if eof(err) {
		return err
	}
	return nil
}

// takeOver opens the file for reading row by row, and skips the first rows.
func (r *blockFile) takeOver(ctx context.Context, rows int64) error {
	if r.ahead != nil {
		r.ahead.close()
		r.ahead = nil
	}
	slow, err := r.format.openRows(r.ctx, r.name)
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

func (r *blockFile) skip(ctx context.Context, n int64) error {
	if r.format.leavesOut() != nil {
		return readPast(ctx, r, n)
	}
	for all := n; n > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := r.text.next(nil, blockBytes)
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
func (r *blockFile) placeOf(column string, element int) DataError {
	d := DataError{File: r.name}
	slow, err := r.format.openRows(r.ctx, r.name)
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

func (r *blockFile) close() error {
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
