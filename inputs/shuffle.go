package inputs

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Shuffle delivers rows in random order from a buffer of the given number of
// rows: each is drawn uniformly from the buffer and replaced by the next row
// from upstream, as in tf.data. The order depends only on seed and epoch. For an
// Indexed data set the buffer holds row numbers, and a buffer of its length is a
// full permutation; otherwise it holds the rows.
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
		if index != nil {
			d.label = "shuffle of " + up.stepName() // it gathers the rows of up
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			s := &shuffleStage{node: d, buffer: buffer, rng: splitmix.Source(splitmix.Mix(uint64(seed), uint64(epoch), 0x5f))}
			if index != nil && up.err == nil {
				ix, err := index(ctx)
				s.rows = &indexStore{src: ix}
				return s, err
			}
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			s.rows = &rowStore{up: st, node: d, read: shuffleRead(buffer), block: buffer / shuffleAhead, buffer: buffer, holds: holder{of: budgetOf(ctx)}}
			return s, nil
		}
		return d
	}
}

// store holds the rows of a shuffle buffer; a slot identifies one of them.
type store interface {
	// next adds one more row, or returns io.EOF.
	next(ctx context.Context) (slot int64, err error)
	// gather returns rows as a record and frees their slots. keep are
	// the slots in use, which it may rename in place.
	gather(ctx context.Context, slots, keep []int64) (arrow.Record, error)
	// ahead is the number of rows to gather at once, 0 if that gains nothing.
	ahead() int
	// last is ahead at the end, when no more rows come and left slots are in use.
	last(left int) int
	save(w *stateWriter, keep []int64) error
	load(ctx context.Context, r *stateReader, limit int) (keep []int64, err error)
	close() error
}

type shuffleStage struct {
	node   *node
	rows   store
	buffer int
	rng    splitmix.Source
	slots  []int64
	done   bool // no more rows upstream
	failed failure
	cutter // rows that were gathered together with earlier ones
}

// pull returns a part of many rows that were gathered at once, so that memory is read page by page. In batch memory it
// gathers no more than one batch.
func (s *shuffleStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	mem := BatchMemoryOf(ctx)
	if mem != nil && s.rest == nil {
		return s.gather(ctx, limit, false)
	}
	rec, err := s.cutter.pull(ctx, limit, func(ctx context.Context) (arrow.Record, error) {
		return s.gather(ctx, limit, true)
	})
	if err != nil || mem == nil {
		return rec, err
	}
	defer rec.Release() // restored from a state that was saved without batch memory
	return gatherRecord(mem, s.node.schema.Arrow(), []arrow.Record{rec}, []span{{0, 0, int(rec.NumRows())}})
}

// gather draws limit rows, or more if it may gather ahead.
func (s *shuffleStage) gather(ctx context.Context, limit int, ahead bool) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	n := limit
	if ahead {
		n = max(limit, s.rows.ahead()/limit*limit)
	}
	drawn := make([]int64, 0, min(n, chunkRows*chunkRows)) // a limit may exceed the data by far
	for len(drawn) < n {
		err := s.fill(ctx)
		if err != nil && s.failed.after(ctx, err, len(drawn) > 0) {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.done {
			if ahead {
				n = max(n, s.rows.last(len(drawn)+len(s.slots))/limit*limit)
			}
			drawn = s.draw(drawn, n-len(drawn))
			break
		}
		drawn = s.draw(drawn, 1)
	}
	if len(drawn) == 0 {
		return nil, io.EOF
	}
	return s.rows.gather(ctx, drawn, s.slots)
}

// fill reads rows until the buffer is full or no more rows come.
func (s *shuffleStage) fill(ctx context.Context) error {
	for !s.done && len(s.slots) < s.buffer {
		slot, err := s.rows.next(ctx)
		if eof(err) {
			s.done = true
			break
		}
		if err != nil {
			return err
		}
		s.slots = append(s.slots, slot)
	}
	return nil
}

// draw removes n random rows, or as many as there are.
func (s *shuffleStage) draw(drawn []int64, n int) []int64 {
	n = min(n, len(s.slots))
	drawn = slices.Grow(drawn, n)
	rng, slots := s.rng, s.slots // local copies stay in registers
	for range n {
		last := len(slots) - 1
		j := rng.Intn(last + 1)
		drawn = append(drawn, slots[j])
		slots[j] = slots[last]
		slots = slots[:last]
	}
	s.rng, s.slots = rng, slots
	return drawn
}

func (s *shuffleStage) save(w *stateWriter) error {
	w.int(int64(s.rng))
	flags := int64(0)
	if s.done {
		flags |= shuffleDone
	}
	if s.rest != nil {
		flags |= shuffleRest
	}
	w.int(flags)
	if s.rest != nil {
		if err := w.record(s.rest); err != nil {
			return err
		}
	}
	return s.rows.save(w, s.slots)
}

// Flags in the state of a shuffle.
const (
	shuffleDone = 1 << iota // no more rows upstream
	shuffleRest             // the state has gathered rows that were not delivered yet
)

func (s *shuffleStage) load(ctx context.Context, r *stateReader) error {
	s.discard()
	s.rng = splitmix.Source(r.int())
	flags := r.count(shuffleDone | shuffleRest)
	s.done = flags&shuffleDone != 0
	s.failed.err = nil
	if r.err != nil {
		return r.err
	}
	var err error
	if flags&shuffleRest != 0 {
		if s.rest, err = r.record(s.node.schema); err != nil {
			return err
		}
	}
	s.slots, err = s.rows.load(ctx, r, s.buffer)
	return err
}

func (s *shuffleStage) close() error {
	s.discard()
	return s.rows.close()
}

// indexStore keeps the row numbers of an Indexed data set.
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

// ahead is 0: a state holds only row numbers, and rows in memory can be gathered when a batch needs them.
func (s *indexStore) ahead() int { return 0 }

func (s *indexStore) last(int) int { return 0 }

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
