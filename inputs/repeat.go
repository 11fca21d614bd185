package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// Repeat passes over the data n times, endlessly if n is 0 or less. The passes
// are the epochs 0, 1, ... of the upstream: a Shuffle there gives each pass its own
// order. Endless repetition of an empty data set is ErrEmpty.
func Repeat(n int) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		epochs := int64(n)
		if n <= 0 {
			epochs = math.MaxInt64
		}
		d := up.derive(fmt.Sprintf("repeat(%d)", max(n, 0)), func(ctx context.Context, epoch int64) (stage, error) {
			// If a Repeat is itself repeated, its epochs continue to count.
			s := &repeatStage{ctx: ctx, source: up, epochs: epochs}
			if n > 0 {
				s.first = epoch * epochs
			}
			return s, s.reopen(ctx)
		})
		d.mixes = true
		return d
	}
}

type repeatStage struct {
	ctx    context.Context // of the pass: later epochs outlive the call that opens them
	source *node
	first  int64 // epoch number of the first pass
	epochs int64 // passes to make
	epoch  int64 // passes completed
	rows   int64 // rows delivered in this pass
	up     stage // nil when all passes are done
}

func (s *repeatStage) reopen(ctx context.Context) error {
	var err error
	s.up, err = openLater(ctx, s.ctx, s.source, s.first+s.epoch)
	return err
}

func (s *repeatStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.up == nil {
			if s.epoch >= s.epochs {
				return nil, io.EOF
			}
			if err := s.reopen(ctx); err != nil {
				return nil, err
			}
		}
		rec, err := s.up.pull(ctx, limit)
		if err == nil {
			s.rows += rec.NumRows()
			return rec, nil
		}
		if !eof(err) {
			return nil, err
		}
		if s.rows == 0 && s.epochs == math.MaxInt64 {
			return nil, fmt.Errorf("%w: it cannot be repeated endlessly; check its files, filters, skip and shard", ErrEmpty)
		}
		if up, ok := unmetered(s.up).(*rangeStage); ok && s.epoch+1 < s.epochs { // all passes are the same
			up.pos, s.rows = 0, 0
			s.epoch++
			continue
		}
		err = s.up.close()
		s.up, s.rows = nil, 0
		s.epoch++
		if err != nil {
			return nil, err
		}
	}
}

func (s *repeatStage) save(w *stateWriter) error {
	w.int(s.epoch)
	w.int(s.rows)
	if s.up == nil {
		w.int(0)
		return nil
	}
	w.int(1)
	return s.up.save(w)
}

func (s *repeatStage) load(ctx context.Context, r *stateReader) error {
	epoch, rows, open := r.count(s.epochs), r.count(math.MaxInt64), r.count(1)
	if r.err != nil {
		return r.err
	}
	if err := s.close(); err != nil {
		return err
	}
	s.epoch, s.rows = epoch, rows
	if open == 0 {
		return nil
	}
	if err := s.reopen(ctx); err != nil {
		return err
	}
	return s.up.load(ctx, r)
}

func (s *repeatStage) close() error {
	if s.up == nil {
		return nil
	}
	up := s.up
	s.up = nil
	return up.close()
}
