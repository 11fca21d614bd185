package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// rowReader reads the rows of one file.
type rowReader interface {
	// read returns 1 to limit rows, or a convenient number if limit is 0. At the end it returns io.EOF.
	read(ctx context.Context, limit int) (arrow.Record, error)
	// skip skips n rows; it fails if there are fewer.
	skip(ctx context.Context, n int64) error
	close() error
}

// fileSource is a data set of files that are read one after another.
type fileSource struct {
	files []string
	open  func(ctx context.Context, name string) (rowReader, error)
	seen  *seenObjects // shared by all passes over the data set
	// damaged leaves out rows that cannot be read; nil: they are errors.
	damaged *Damaged
}

// node returns the Dataset; format names it in states.
func (src fileSource) node(n *node, format string) *node {
	n.desc = fmt.Sprintf("%s(%s)[%s]", format, baseNames(src.files), n.schema)
	if src.damaged != nil {
		n.desc += damagedStep
	}
	n.files, n.origin.files = src.files, src.files
	n.start = func(ctx context.Context, _ int64) (stage, error) {
		return &fileStage{ctx: ctx, src: fileSource{files: fileShareOf(ctx).of(src.files), open: src.open, seen: src.seen, damaged: src.damaged}}, nil
	}
	n.place = func(int64) DataError { return DataError{} } // fileStage adds the place to errors itself
	return n
}

// reader opens a file. Reads of an object end with ctx.
func (src fileSource) reader(ctx context.Context, name string) (rowReader, error) {
	return src.open(src.seen.in(ctx), name)
}

type fileStage struct {
	ctx  context.Context // of the pass
	src  fileSource
	file int   // files read to their end
	row  int64 // rows delivered from the current file
	all  int64 // rows delivered
	cur  rowReader
}

func (s *fileStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.file == len(s.src.files) {
			if s.all == 0 {
				return nil, s.src.damaged.empty(baseNames(s.src.files))
			}
			if s.src.damaged != nil {
				s.src.damaged.ended()
			}
			return nil, io.EOF
		}
		if err := s.ensure(); err != nil {
			return nil, err
		}
		rec, err := s.cur.read(ctx, limit)
		if err == nil {
			s.row += rec.NumRows()
			s.all += rec.NumRows()
			return rec, nil
		}
		if !eof(err) {
			return nil, err
		}
		if err := s.close(); err != nil {
			return nil, err
		}
		s.file++
		s.row = 0
	}
}

func (s *fileStage) ensure() error {
	if s.cur != nil {
		return nil
	}
	cur, err := s.src.reader(s.ctx, s.src.files[s.file])
	if err == nil {
		s.cur = cur
	}
	return err
}

func (s *fileStage) save(w *stateWriter) error {
	w.int(int64(s.file))
	w.int(s.row)
	w.int(s.all)
	return nil
}

func (s *fileStage) load(ctx context.Context, r *stateReader) error {
	file, row, all := r.count(int64(len(s.src.files))), r.count(math.MaxInt64), r.count(math.MaxInt64)
	if r.err != nil {
		return r.err
	}
	if err := s.close(); err != nil {
		return err
	}
	s.file, s.row, s.all = int(file), row, all
	if row == 0 {
		return nil
	}
	if s.file == len(s.src.files) {
		return fmt.Errorf("%w: rows behind the last file", ErrBadState)
	}
	if err := s.ensure(); err != nil {
		return err
	}
	if err := s.cur.skip(ctx, row); err != nil {
		if eof(err) {
			err = fmt.Errorf("%w: %s has fewer rows than when it was saved: restore the file or start the data afresh",
				ErrStateMismatch, s.src.files[s.file])
		}
		return err
	}
	return nil
}

func (s *fileStage) close() error {
	if s.cur == nil {
		return nil
	}
	cur := s.cur
	s.cur = nil
	return cur.close()
}
