package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

// goodStep describes arrays without their damaged rows, in states. It differs from damagedStep, since a shuffle of all rows keeps row numbers in its state.
const goodStep = " | good rows"

// arraysOf returns the rows of format npy or npz. If o asks for it, damaged rows are left out, and the rows are read in order.
func arraysOf(ctx context.Context, format string, files []string, o ArrowOptions) (Dataset, error) {
	open := arraysOfNPY
	if format == "npz" {
		open = arraysOfNPZ
	}
	all, err := open(ctx, files, o)
	if err != nil || o.Damaged == nil {
		return all, err
	}
	up := adopt(all)
	n := &node{schema: up.schema, mem: up.mem, origin: up.origin, desc: up.desc + goodStep, label: format}
	n.place = func(int64) DataError { return DataError{} } // unknown: it depends on the rows left out
	n.start = func(context.Context, int64) (stage, error) {
		return &goodRows{src: all, damaged: o.Damaged, name: baseNames(files), source: strings.Join(files, "\n")}, nil
	}
	return n, nil
}

// goodRows is a pass over rows with random access, without those that cannot be converted.
type goodRows struct {
	src     Indexed
	damaged *Damaged
	name    string // names of the files, for errors
	source  string // the same for Damaged
	row     int64  // next row to read
	given   int64  // rows delivered
}

func (s *goodRows) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	for s.row < s.src.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(s.row+int64(min(limit, chunkRows)), s.src.Len())
		parts, err := s.rows(ctx, s.row, to)
		if err != nil {
			releaseAll(parts)
			return nil, err
		}
		s.row = to
		if len(parts) > 0 {
			rec, err := concat(memoryOf(ctx, adopt(s.src).mem), s.src.Schema().Arrow(), parts)
			if err == nil {
				s.given += rec.NumRows()
			}
			return rec, err
		}
	}
	if s.given == 0 {
		return nil, s.damaged.empty(s.name)
	}
	s.damaged.ended()
	return nil, io.EOF
}

// rows returns rows from to to-1 without the damaged ones, which it finds by bisection.
func (s *goodRows) rows(ctx context.Context, from, to int64) ([]arrow.Record, error) {
	numbers := make([]int64, to-from)
	for i := range numbers {
		numbers[i] = from + int64(i)
	}
	rec, err := s.src.Gather(ctx, numbers)
	if err == nil {
		return []arrow.Record{rec}, nil
	}
	if wrong := new(rowOfFile); !errors.As(err, &wrong) {
		return nil, err
	}
	if to-from == 1 {
		return nil, s.damaged.leaveOut(&damagedRow{s.source, from, err})
	}
	half := (from + to) / 2
	parts, err := s.rows(ctx, from, half)
	if err != nil {
		return parts, err
	}
	more, err := s.rows(ctx, half, to)
	return append(parts, more...), err
}

func (s *goodRows) save(w *stateWriter) error {
	w.int(s.row)
	w.int(s.given)
	return nil
}

func (s *goodRows) load(_ context.Context, r *stateReader) error {
	s.row = r.count(s.src.Len())
	s.given = r.count(s.row)
	if r.err != nil {
		return fmt.Errorf("rows of %s: %w", s.name, r.err)
	}
	return nil
}

func (s *goodRows) close() error { return nil }
