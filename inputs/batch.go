package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
)

// Batch makes records of n rows; the last one may be shorter unless
// dropRemainder is set.
func Batch(n int, dropRemainder bool) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if n <= 0 {
			return up.refuse("batch size must be positive, got %d: set batch_size", n)
		}
		d := up.derive(fmt.Sprintf("batch(%d,%t)", n, dropRemainder), nil)
		d.batch = n
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &batchStage{up: st, node: d, size: n, drop: dropRemainder}, nil
		}
		return d
	}
}

// BatchSize returns the number of rows that the last Batch of a data set asks for, or 0
// if there is no Batch or a data set of another package follows it.
func BatchSize(ds Dataset) int { return adopt(ds).batch }

type batchStage struct {
	up    stage
	node  *node
	size  int
	drop  bool
	parts []arrow.Record // of the batch being collected
	cutter
}

func (s *batchStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	return s.cutter.pull(ctx, limit, s.batch)
}

// batch collects one batch. The rows collected before an error, such as a cancelled
// context, are kept for the next call.
func (s *batchStage) batch(ctx context.Context) (arrow.Record, error) {
	for s.have() < s.size {
		rec, err := s.up.pull(ctx, s.size-s.have())
		if eof(err) && s.have() > 0 && !s.drop {
			break
		}
		if eof(err) {
			s.discardParts()
		}
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, rec)
	}
	rec, err := concat(memoryOf(ctx, s.node.mem), s.node.schema.Arrow(), s.parts)
	clear(s.parts)
	s.parts = s.parts[:0]
	return rec, err
}

func (s *batchStage) have() int {
	n := 0
	for _, p := range s.parts {
		n += int(p.NumRows())
	}
	return n
}

func (s *batchStage) discardParts() {
	releaseAll(s.parts)
	s.parts = nil
}

func (s *batchStage) save(w *stateWriter) error {
	w.int(int64(len(s.parts)))
	for _, rec := range append(slices.Clip(s.parts), s.rest) {
		if err := w.record(rec); err != nil {
			return err
		}
	}
	return s.up.save(w)
}

func (s *batchStage) load(ctx context.Context, r *stateReader) error {
	s.discard()
	s.discardParts()
	for range r.count(int64(s.size)) {
		rec, err := r.record(s.node.schema)
		if err != nil {
			return err
		}
		if rec == nil {
			return fmt.Errorf("%w: a part of a batch is empty", ErrBadState)
		}
		s.parts = append(s.parts, rec)
	}
	var err error
	if s.rest, err = r.record(s.node.schema); err != nil {
		return err
	}
	return s.up.load(ctx, r)
}

func (s *batchStage) close() error {
	s.discard()
	s.discardParts()
	return s.up.close()
}
