package inputs

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Shuffle delivers rows in random order out of a buffer of the given number of
// rows: each is drawn uniformly from the buffer and replaced by the next one
// upstream, as tf.data does. The order depends only on seed and epoch. Over an
// Indexed data set the buffer holds row numbers and a buffer of its length is a
// full permutation; else it holds the rows.
func Shuffle(buffer int, seed int64) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if buffer <= 0 {
			return up.refuse("shuffle buffer must be positive, got %d: set shuffle to a number of rows, or leave it out", buffer)
		}
		d := up.derive(fmt.Sprintf("shuffle(%d,%d)", buffer, seed), nil)
		d.mixes = true
		index := up.index
		if ix, ok := ds.(Indexed); ok {
			index = func(context.Context) (Indexed, error) { return ix, nil }
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			s := &shuffleStage{buffer: buffer, rng: splitmix.Source(splitmix.Mix(uint64(seed), uint64(epoch), 0x5f))}
			if index != nil && up.err == nil {
				ix, err := index(ctx)
				s.rows = &indexStore{src: ix}
				return s, err
			}
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			s.rows = &rowStore{up: st, node: d, read: shuffleRead(buffer)}
			return s, nil
		}
		return d
	}
}

// store holds the rows of a shuffle buffer; a slot identifies one of them.
type store interface {
	// next takes in one more row, or returns io.EOF.
	next(ctx context.Context) (slot int64, err error)
	// gather returns rows as a record; these slots are free from now on. keep are
	// the slots in use, which it may rename in place.
	gather(ctx context.Context, slots, keep []int64) (arrow.Record, error)
	save(w *stateWriter, keep []int64) error
	load(ctx context.Context, r *stateReader, limit int) (keep []int64, err error)
	close() error
}

type shuffleStage struct {
	rows   store
	buffer int
	rng    splitmix.Source
	slots  []int64
	done   bool // no more rows upstream
	failed failure
}

func (s *shuffleStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	if limit <= 0 {
		limit = chunkRows
	}
	drawn := make([]int64, 0, min(limit, chunkRows*chunkRows)) // a limit may exceed the data by far
	for len(drawn) < limit {
		slot, err := s.draw(ctx)
		if err != nil && s.failed.after(ctx, err, len(drawn) > 0) {
			break
		}
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, slot)
	}
	return s.rows.gather(ctx, drawn, s.slots)
}

// draw fills the buffer and removes a random row.
func (s *shuffleStage) draw(ctx context.Context) (int64, error) {
	for !s.done && len(s.slots) < s.buffer {
		slot, err := s.rows.next(ctx)
		if eof(err) {
			s.done = true
			break
		}
		if err != nil {
			return 0, err
		}
		s.slots = append(s.slots, slot)
	}
	last := len(s.slots) - 1
	if last < 0 {
		return 0, io.EOF
	}
	j := s.rng.Intn(last + 1)
	slot := s.slots[j]
	s.slots[j] = s.slots[last]
	s.slots = s.slots[:last]
	return slot, nil
}

func (s *shuffleStage) save(w *stateWriter) error {
	w.int(int64(s.rng))
	done := int64(0)
	if s.done {
		done = 1
	}
	w.int(done)
	return s.rows.save(w, s.slots)
}

func (s *shuffleStage) load(ctx context.Context, r *stateReader) error {
	s.rng = splitmix.Source(r.int())
	s.done = r.count(1) == 1
	s.failed.err = nil
	if r.err != nil {
		return r.err
	}
	var err error
	s.slots, err = s.rows.load(ctx, r, s.buffer)
	return err
}

func (s *shuffleStage) close() error { return s.rows.close() }

// indexStore keeps row numbers of an Indexed data set.
type indexStore struct {
	src Indexed
	pos int64
}

func (s *indexStore) next(ctx context.Context) (int64, error) {
	if s.pos >= s.src.Len() {
		return 0, io.EOF
	}
	s.pos++
	return s.pos - 1, nil
}

func (s *indexStore) gather(ctx context.Context, slots, _ []int64) (arrow.Record, error) {
	return s.src.Gather(ctx, slots)
}

func (s *indexStore) save(w *stateWriter, keep []int64) error {
	w.int(s.pos)
	w.int(int64(len(keep)))
	for _, row := range keep {
		w.int(row)
	}
	return nil
}

func (s *indexStore) load(_ context.Context, r *stateReader, limit int) ([]int64, error) {
	s.pos = r.count(s.src.Len())
	n := r.count(int64(min(limit, len(r.buf)))) // a row takes at least one byte
	keep := make([]int64, n)
	for i := range keep {
		keep[i] = r.count(s.pos - 1)
	}
	return keep, r.err
}

func (s *indexStore) close() error { return nil }
