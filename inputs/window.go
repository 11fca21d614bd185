package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// maxSpan bounds the rows that a window spans, the rows between windows, and the values of a padded list.
const maxSpan = 1 << 24

// noValidity are the buffers of a list column without nulls.
var noValidity = []*memory.Buffer{nil}

// Windows says what Window makes of a stream of rows.
type Windows struct {
	Size   int  // rows per window
	Shift  int  // rows from the start of a window to the start of the next; 0: Size
	Stride int  // rows from one row of a window to the next; 0: 1
	Last   bool // labels and weights have only the last row of a window; otherwise all its rows
}

// Window makes a row of each run of Size rows, for sequence models: a column of shape s becomes one of shape [Size s...]. It
// is tf.data's window with drop_remainder, each window as one batch. Rows at the end that do not fill a window are left out.
func Window(w Windows) Transform {
	if w.Shift == 0 {
		w.Shift = w.Size
	}
	if w.Stride == 0 {
		w.Stride = 1
	}
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if w.Size <= 0 || w.Shift < 0 || w.Shift > maxSpan || w.Stride < 0 || w.Size > maxSpan/w.Stride {
			return up.refuse("window needs a size, a shift and a stride > 0, windows that span at most 2^24 rows and a shift of no more, got %d, %d and %d", w.Size, w.Shift, w.Stride)
		}
		schema, err := w.schema(up.schema)
		if err != nil {
			return up.refuse("window: %w", err)
		}
		d := up.derive(fmt.Sprintf("window(%d,%d,%d,%t)", w.Size, w.Shift, w.Stride, w.Last), nil)
		d.schema, d.batch = schema, 0
		d.up, d.several = nil, []*node{up} // the rows no longer correspond to rows of files
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			return &windowStage{up: st, in: up, node: d, w: w}, nil
		}
		return d
	}
}

func (w Windows) schema(in *Schema) (*Schema, error) {
	columns := make([]Column, len(in.columns))
	for i, c := range in.columns {
		c.Default = nil
		switch {
		case w.lastOnly(c):
		case c.Ragged:
			return nil, fmt.Errorf("column %q is ragged, windows need values of one shape: pad it (Pad) or leave it out (Project)", c.Name)
		default:
			c.Shape = append([]int{w.Size}, c.Shape...)
		}
		columns[i] = c
	}
	return NewSchema(columns...)
}

func (w Windows) lastOnly(c Column) bool { return w.Last && c.Role != Feature }

// span is the number of stream rows from the first to the last row of a window.
func (w Windows) span() int64 { return int64(w.Size-1)*int64(w.Stride) + 1 }

// atOnce is the number of windows that are made together. It is 1 if there are rows between windows, which then need not be held.
func (w Windows) atOnce(limit int) int {
	if int64(w.Shift) > w.span() {
		return 1
	}
	return min(limit, chunkRows)
}

type windowStage struct {
	up     stage
	in     *node
	node   *node
	w      Windows
	held   []arrow.Record // the next rows of the stream
	rows   int64          // number of held rows
	skip   int64          // rows to skip before the next window starts
	failed failure
}

func (s *windowStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	if limit <= 0 {
		limit = max(chunkRows/s.w.Size, 1)
	}
	want := s.w.span() + int64(s.w.atOnce(limit)-1)*int64(s.w.Shift)
	for s.rows < want {
		err := s.fetch(ctx, want-s.rows)
		if err != nil && s.failed.after(ctx, err, s.rows >= s.w.span()) {
			break
		}
		if eof(err) {
			s.discard()
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
	}
	n := min((s.rows-s.w.span())/int64(s.w.Shift)+1, int64(limit))
	rec, err := s.windows(ctx, int(n))
	if err != nil {
		return nil, err
	}
	s.drop(n * int64(s.w.Shift))
	return rec, nil
}

// fetch pulls more rows into held.
func (s *windowStage) fetch(ctx context.Context, most int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rec, err := s.up.pull(withoutBatchMemory(ctx), int(min(most+s.skip, max(most, chunkRows), math.MaxInt32)))
	if err != nil {
		return err
	}
	n := rec.NumRows()
	if s.skip >= n {
		s.skip -= n
		rec.Release()
		return nil
	}
	s.held, s.rows = append(s.held, rec), s.rows+n
	gone := s.skip
	s.skip = 0
	s.drop(gone)
	return nil
}

// drop drops the next n rows, even if they have not been pulled yet.
func (s *windowStage) drop(n int64) {
	for n > 0 && len(s.held) > 0 {
		first := s.held[0]
		k := min(n, first.NumRows())
		if k < first.NumRows() {
			s.held[0] = first.NewSlice(k, first.NumRows())
		} else {
			s.held = append(s.held[:0], s.held[1:]...)
		}
		first.Release()
		n, s.rows = n-k, s.rows-k
	}
	s.skip += n
}

// windows copies the next n windows.
func (s *windowStage) windows(ctx context.Context, n int) (arrow.Record, error) {
	ends := make([]int64, len(s.held))
	total := int64(0)
	for i, r := range s.held {
		total += r.NumRows()
		ends[i] = total
	}
	var all, last []int64
	for k := range n {
		start := int64(k) * int64(s.w.Shift)
		for i := range s.w.Size {
			all = append(all, start+int64(i)*int64(s.w.Stride))
		}
		last = append(last, start+s.w.span()-1)
	}
	allSpans, lastSpans := locate(ends, all), locate(ends, last)
	cols := make([]arrow.Array, 0, len(s.in.schema.columns))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, c := range s.in.schema.columns {
		spans := allSpans
		if s.w.lastOnly(c) {
			spans = lastSpans
		}
		chunks := make([]arrow.ArrayData, len(s.held))
		for k, r := range s.held {
			chunks[k] = r.Column(i).Data()
		}
		d, err := gatherData(memoryOf(ctx, s.node.mem), s.in.schema.arrow.Field(i).Type, chunks, spans)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		cols = append(cols, s.windowed(d, i))
		d.Release()
	}
	return array.NewRecord(s.node.schema.arrow, cols, int64(n)), nil
}

// windowed returns the copied rows of a column as a column of windows.
func (s *windowStage) windowed(d arrow.ArrayData, column int) arrow.Array {
	rows := array.MakeFromData(d)
	if s.w.lastOnly(s.in.schema.columns[column]) {
		return rows
	}
	defer rows.Release()
	t := s.node.schema.arrow.Field(column).Type.(*arrow.FixedSizeListType)
	if list, ok := rows.(*array.FixedSizeList); ok {
		return listsOf(list.ListValues(), t)
	}
	return listsOf(rows, t)
}

func (s *windowStage) discard() {
	releaseAll(s.held)
	s.held, s.rows = nil, 0
}

func (s *windowStage) save(w *stateWriter) error {
	w.int(s.skip)
	w.int(int64(len(s.held)))
	for _, rec := range s.held {
		if err := w.record(rec); err != nil {
			return err
		}
	}
	return s.up.save(w)
}

func (s *windowStage) load(ctx context.Context, r *stateReader) error {
	s.discard()
	s.failed.err = nil
	s.skip = r.count(math.MaxInt64)
	var err error
	if s.held, err = r.records(s.in.schema); err != nil {
		return err
	}
	for _, rec := range s.held {
		s.rows += rec.NumRows()
	}
	return s.up.load(ctx, r)
}

func (s *windowStage) close() error {
	s.discard()
	return s.up.close()
}
