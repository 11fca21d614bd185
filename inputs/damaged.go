package inputs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// ErrTooManyDamaged is the error of data with more damaged rows than Damaged.Max.
var ErrTooManyDamaged = errors.New("too many damaged rows")

// Damaged leaves out and counts rows that cannot be read: a row with a missing or wrong value, a line that is no row, a record
// whose checksum is wrong. A file that is truncated or damaged as a whole stays an error, since it is unknown what was lost.
//
// A row counts once, however often it is read: in later epochs, or from a restored position. Rows of queries and Flight services may
// differ from pass to pass; their count is the largest of any pass.
type Damaged struct {
	// Max is the number of rows that may be left out; one more is an error that wraps ErrTooManyDamaged. 0: any number.
	Max int64
	// Log gets the first 3 rows, the count at each thousand, and the count at the end of the data; nil: slog.Default().
	Log *slog.Logger
	// Total, if set, counts and logs the rows of several data sets together.
	Total *Damaged

	mu     sync.Mutex
	count  int64
	first  error
	last   map[string]int64 // place of the last row counted, for each source
	logged int64            // the count logged at the last end of the data
}

// Count returns the number of rows that were left out.
func (d *Damaged) Count() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// First returns the error of the first row left out, nil if there is none.
func (d *Damaged) First() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.first
}

const (
	damagedEach    = 3    // rows that are logged one by one
	damagedEvery   = 1000 // how often the count is logged after them
	damagedExplain = 100  // rows whose errors are explained in full
)

// leaveOut counts a row of a source. Places ascend within a source, so that the last one tells which rows were counted already.
func (d *Damaged) leaveOut(row *damagedRow) error {
	if d.Total != nil {
		if err := d.Total.leaveOut(row); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, seen := d.last[row.source]; !seen || row.at > at {
		if d.last == nil {
			d.last = map[string]int64{}
		}
		d.last[row.source] = row.at
		d.count++
		err := WithoutSkipHint(row.err)
		if d.first == nil {
			d.first = err
		}
		if d.Total == nil {
			d.log(err)
		}
	}
	if d.Max > 0 && d.count > d.Max {
		return fmt.Errorf("%w: more than %d (max_errors): correct the data or raise the bound: %w", ErrTooManyDamaged, d.Max, WithoutSkipHint(row.err))
	}
	return nil
}

func (d *Damaged) logger() *slog.Logger {
	if d.Log == nil {
		return slog.Default()
	}
	return d.Log
}

func (d *Damaged) log(err error) {
	switch {
	case d.count <= damagedEach:
		d.logger().Warn("a damaged row is left out", "error", err)
	case d.count%damagedEvery == 0:
		d.logger().Warn("damaged rows are left out", "rows", d.count, "last", err)
	}
}

// ended logs the count at the end of the data, if it has changed.
func (d *Damaged) ended() {
	if d.Total != nil {
		d.Total.ended()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count > d.logged {
		d.logged = d.count
		d.logger().Warn("end of the data: damaged rows were left out", "rows", d.count, "first", d.first)
	}
}

// brief reports whether there are too many damaged rows to explain each one.
func (d *Damaged) brief() bool { return d != nil && d.Count() >= damagedExplain }

// empty is the error of files without a row that can be read.
func (d *Damaged) empty(files string) error {
	if d == nil || d.First() == nil {
		return fmt.Errorf("%w: no row in %s", ErrEmpty, files)
	}
	return fmt.Errorf("%w: no row of %s can be read, the first: %w", ErrEmpty, files, d.First())
}

// skip is the value of on_error that leaves rows out.
const skip = "skip"

// damaged returns what the key on_error asks for.
func (s Spec) damaged(ic Context) *Damaged {
	if s.OnError != skip {
		return nil
	}
	return &Damaged{Max: s.MaxErrors, Total: ic.Damaged}
}

func (s Spec) validateDamaged(vs *violation.List) {
	vs.OneOf("on_error", s.OnError, "", "fail", skip)
	vs.Require(s.OnError != skip || slices.Contains(skipping, s.Format) || !slices.Contains(Formats(), s.Format), "on_error", s.OnError, "expected it for the formats "+strings.Join(skipping, ", "))
	vs.Require(s.MaxErrors >= 0, "max_errors", s.MaxErrors, "expected > 0, or 0 for any number")
	vs.Require(s.MaxErrors == 0 || s.OnError == skip, "max_errors", s.MaxErrors, "expected none without on_error: skip")
}

// skipping are the formats that can leave out damaged rows.
var skipping = []string{"csv", "jsonl", "parquet", "arrow", "tfrecord", "images", "audio", "sql", "flight", "npy", "npz"}

// damagedStep describes sources that leave out damaged rows, in states.
const damagedStep = " | on_error(skip)"

// beforeDamage reports whether a state was saved before on_error: skip was set for its source, which had no damaged row until then.
func beforeDamage(saved, now string) bool { return saved == strings.ReplaceAll(now, damagedStep, "") }

// damagedRow is the error of one row after which reading can continue.
type damagedRow struct {
	source string // the file, or what else is read
	at     int64  // line, record or row of the file; for a live source, the number among the rows that a pass leaves out, from 1
	err    error
}

// livePass counts the rows that a pass over a live source leaves out.
type livePass struct {
	source string // its name in Damaged
	rows   int64
}

// row returns the next damaged row.
func (p *livePass) row(err error) *damagedRow {
	p.rows++
	return &damagedRow{p.source, p.rows, err}
}

// Error implements error.
func (e *damagedRow) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *damagedRow) Unwrap() error { return e.err }

// pass returns nil for a row that is left out; it returns other errors unchanged.
func (d *Damaged) pass(err error) error {
	row, ok := err.(*damagedRow)
	switch {
	case !ok:
		return err
	case d == nil:
		return row.err
	}
	return d.leaveOut(row)
}

// rowReading reads row by row into a builder, without the damaged rows.
type rowReading struct {
	mem     memory.Allocator
	damaged *Damaged
	parts   []arrow.Record // between damaged rows
	done    int            // rows in parts
}

// rows calls row until there are limit rows or it fails. It returns the rows, nil if there are none, and the failure. If ctx ends, there
// are fewer rows and no failure.
func (r *rowReading) rows(ctx context.Context, b *array.RecordBuilder, limit int, row func() error) (arrow.Record, error) {
	n := 0
	var failed error
	for failed == nil && r.done+n < limit {
		err := row()
		if err == nil {
			n++
			continue
		}
		if failed = r.damaged.pass(err); failed == nil {
			r.cut(b, n)
			n = 0
			if ctx.Err() != nil {
				break
			}
		}
	}
	if r.done+n == 0 {
		return nil, failed
	}
	r.cut(b, n)
	rec, err := concat(r.mem, b.Schema(), r.parts)
	if err != nil {
		return nil, err
	}
	return rec, failed
}

// cut moves the first n rows out of the builder, and empties it.
func (r *rowReading) cut(b *array.RecordBuilder, n int) {
	rec := completeRows(b, n)
	if n == 0 {
		rec.Release()
		return
	}
	r.parts, r.done = append(r.parts, rec), r.done+n
}

// readPast skips n rows by reading them.
func readPast(ctx context.Context, r rowReader, n int64) error {
	for n > 0 {
		rec, err := r.read(ctx, int(min(n, chunkRows)))
		if err != nil {
			return err
		}
		n -= rec.NumRows()
		rec.Release()
	}
	return nil
}

// orEnded returns the rows if there are any, else the failure, else the error of ctx. The caller keeps a failure after rows for the next call.
func orEnded(ctx context.Context, rec arrow.Record, err error) (arrow.Record, error) {
	switch {
	case rec != nil:
		return rec, nil
	case err != nil:
		return nil, err
	}
	return nil, ctx.Err()
}
