package inputs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// timeBlocks holds where the blocks by time begin. One pass over all rows finds that.
type timeBlocks struct {
	f  Folding
	up *node

	mu     sync.Mutex
	starts []int64 // keys of the first times of all blocks but the first; by FileOrder, row numbers
}

// find sets starts.
func (b *timeBlocks) find(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starts != nil {
		return nil
	}
	source := b.up
	for source.up != nil {
		source = source.up
	}
	if source.resume != "" {
		return errors.New("split by time: the input's rows come only once, but their times are read first")
	}
	st, err := b.up.open(withoutBatchMemory(ctx), 0)
	if err != nil {
		return err
	}
	keys, rows, err := b.read(ctx, st)
	if err = errors.Join(err, st.close()); err != nil {
		return fmt.Errorf("split by time: %w", err)
	}
	slices.Sort(keys)
	for i := range int64(b.f.Folds) {
		at := blockStart(rows, i+1, int64(b.f.Folds)+1)
		if b.f.Time != FileOrder && rows > 0 {
			at = keys[at]
		}
		b.starts = append(b.starts, at)
	}
	return nil
}

// blockStart returns the first row of block k of n.
func blockStart(rows, k, n int64) int64 { return rows/n*k + rows%n*k/n }

// read returns the keys of all rows, unsorted, and the number of rows. By FileOrder there are no keys.
func (b *timeBlocks) read(ctx context.Context, st stage) (keys []int64, rows int64, err error) {
	at := b.up.schema.Index(b.f.column())
	dates := false
	for {
		rec, err := st.pull(withoutBatchMemory(ctx), 0)
		if eof(err) {
			return keys, rows, nil
		}
		if err != nil {
			return nil, 0, err
		}
		for i := 0; at >= 0 && i < int(rec.NumRows()); i++ {
			k, date, err := timeKey(peek(rec, at), i)
			if err == nil && rows+int64(i) > 0 && date != dates {
				err = errors.New("a date among numbers, or a number among dates: expected all times to be of one kind")
			}
			if err != nil {
				rec.Release()
				return nil, 0, &RowError{Column: b.f.Time, Row: rows + int64(i), Err: err}
			}
			dates = date
			keys = append(keys, k)
		}
		rows += rec.NumRows()
		rec.Release()
	}
}

// byTime is the fold rule by time.
type byTime struct {
	blocks *timeBlocks
	at     int // index of the column; -1: FileOrder
	row    int64
}

func (f *byTime) fold(rec arrow.Record, row int) (int, error) {
	key := f.row
	f.row++
	if f.at >= 0 {
		var err error
		if key, _, err = timeKey(peek(rec, f.at), row); err != nil {
			return 0, &RowError{Column: f.blocks.f.Time, Err: err}
		}
	}
	block := 0
	for _, start := range f.blocks.starts {
		if key >= start {
			block++
		}
	}
	return block - 1, nil
}

func (f *byTime) save(w *stateWriter)       { w.int(f.row) }
func (f *byTime) load(r *stateReader) error { f.row = r.count(math.MaxInt64); return r.err }

// timeLayouts are the accepted layouts of ISO 8601, each with or without fractions of a second. Zones may be +01:00, +0100 (Arrow) or +01
// (databases). Times without a zone are in UTC.
var timeLayouts = []string{time.RFC3339, time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01"}

// parseTime parses a time in one of timeLayouts.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// timeKey returns a number that sorts as the time does, and whether the time is a date.
func timeKey(column arrow.Array, row int) (key int64, date bool, err error) {
	switch a := column.(type) {
	case *array.Float32:
		key, err = floatKey(float64(a.Value(row)))
	case *array.Float64:
		key, err = floatKey(a.Value(row))
	case *array.String:
		return textKey(a.Value(row))
	case *array.Binary:
		return textKey(string(a.Value(row)))
	case *array.Uint64:
		if a.Value(row) > math.MaxInt64 {
			return 0, false, fmt.Errorf("value %d: expected a time below 2^63", a.Value(row))
		}
		key = int64(a.Value(row))
	default:
		ok := false
		if key, ok = int64At(column, row); !ok {
			err = fmt.Errorf("values of Arrow type %s are no times: expected numbers or texts", column.DataType())
		}
	}
	return key, false, err
}

// floatKey returns an integer that sorts as x does. Zeros of both signs are equal.
func floatKey(x float64) (int64, error) {
	if math.IsNaN(x) {
		return 0, errors.New("value NaN is no time: correct it, or leave the row out")
	}
	bits := int64(math.Float64bits(x + 0))
	if bits < 0 {
		bits = math.MinInt64 - bits
	}
	return bits, nil
}

func textKey(text string) (key int64, date bool, err error) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		key, err = floatKey(x)
		return key, false, err
	}
	if t, ok := parseTime(text); ok {
		return t.UnixMicro(), true, nil
	}
	return 0, false, fmt.Errorf("value %s is no time: expected a number, or a date such as 2006-01-02 or 2006-01-02T15:04:05Z", shown(text))
}
