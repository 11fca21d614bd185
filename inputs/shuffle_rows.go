package inputs

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// rowStore keeps the rows of a stream. A slot is the index of a record in
// recs, shifted by slotShift, plus a row of it. Delivered rows stay in
// memory until compact copies the rows in use.
type rowStore struct {
	up   stage
	node *node
	recs []arrow.Record
	held int64 // rows in recs
	pos  int64 // rows of the last record that entered the buffer
	read int   // rows to ask upstream for
	// block is the number of rows gathered at once.
	block int
	bytes int64 // bytes of the rows not gathered yet
	ended bool  // no more rows upstream

	buffer int    // rows of the full buffer
	holds  holder // bytes of recs
}

// tooLarge is the error of a buffer that needs more memory than the limit. It counts delivered rows, which are kept until they outnumber the others.
func (s *rowStore) tooLarge(bytes int64) error {
	needed := bytes / s.held * int64(2*s.buffer+5*s.read)
	return fmt.Errorf("the shuffle buffer of %d rows needs about %s, and memory_mb allows %s: raise memory_mb, or make shuffle smaller, which changes the order of the rows",
		s.buffer, mebibytes(needed), mebibytes(s.holds.of.limit))
}

// shuffleAhead sets how many of a buffer's rows are gathered at once: one in shuffleAhead.
const shuffleAhead = 16

func (s *rowStore) ahead() int { return min(s.block, chunkRows*chunkRows) }

// lastBytes bounds the bytes of rows gathered at once after the end of the stream. Gathering many rows reads a column once, not once for each
// small part of its rows.
const lastBytes = 128 << 20

func (s *rowStore) last(left int) int {
	most := int64(lastBytes)
	if b := s.holds.of; b != nil {
		most = min(most, b.limit-s.holds.bytes)
	}
	if s.bytes <= most {
		return left
	}
	return int(float64(left) * float64(most) / float64(s.bytes))
}

// shuffleRead is the number of rows that a buffer asks upstream for: large records make gathering cheap, small ones keep the state
// of a small buffer small.
func shuffleRead(buffer int) int { return min(max(buffer/64, chunkRows), 32*chunkRows) }

const slotShift = 32

func (s *rowStore) next(ctx context.Context) (int64, error) {
	last := len(s.recs) - 1
	if last < 0 || s.pos == s.recs[last].NumRows() {
		rec, err := s.up.pull(withoutBatchMemory(ctx), s.read)
		if s.ended = eof(err); err != nil {
			return 0, err
		}
		s.recs = append(s.recs, rec)
		s.held += rec.NumRows()
		size := rowBytes(rec)
		s.bytes += size
		s.pos = 0
		last++
		if now := s.holds.add(size); s.holds.of.exceeds(now) {
			return 0, s.tooLarge(now)
		}
	}
	s.pos++
	return int64(last)<<slotShift | (s.pos - 1), nil
}

func (s *rowStore) gather(ctx context.Context, slots, keep []int64) (arrow.Record, error) {
	rec, err := gatherRecord(memoryOf(ctx, s.node.mem), s.node.schema.Arrow(), s.recs, slotSpans(slots))
	if err != nil {
		return nil, err
	}
	s.bytes -= rowBytes(rec)
	if s.ended && len(keep) == 0 { // rec has all rows that are left
		releaseAll(s.recs)
		s.recs, s.held, s.pos = nil, 0, 0
	}
	if !s.ended && s.held > int64(2*len(keep)+4*s.read) { // at the end no new rows need the memory that compact would free
		if err := s.compact(keep); err != nil {
			rec.Release()
			return nil, err
		}
	}
	return rec, nil
}

func slotSpans(slots []int64) []span {
	spans := make([]span, 0, len(slots))
	for _, slot := range slots {
		spans = appendSpan(spans, span{int(slot >> slotShift), int(slot & (1<<slotShift - 1)), 1})
	}
	return spans
}

// compact copies the rows of keep, in order, into one record, or several if one could not hold them, followed by one
// with the rows that have not entered the buffer yet. It renames the slots.
func (s *rowStore) compact(keep []int64) error {
	var recs []arrow.Record
	if len(keep) > 0 {
		var err error
		if recs, err = gatherRecords(s.node.mem, s.node.schema.Arrow(), s.recs, slotSpans(keep)); err != nil {
			return err
		}
	}
	at, rows := 0, int64(0)
	for k, rec := range recs {
		rows = rec.NumRows()
		for row := range rows {
			keep[at] = int64(k)<<slotShift | row
			at++
		}
	}
	if last := len(s.recs) - 1; last >= 0 && s.pos < s.recs[last].NumRows() {
		recs = append(recs, s.recs[last].NewSlice(s.pos, s.recs[last].NumRows()))
		rows = 0
	}
	s.pos = rows
	s.replace(recs)
	return nil
}

// replace replaces the records of the store.
func (s *rowStore) replace(recs []arrow.Record) {
	releaseAll(s.recs)
	s.recs, s.held, s.bytes = recs, 0, 0
	for _, r := range recs {
		s.held += r.NumRows()
		s.bytes += rowBytes(r)
	}
	s.holds.drop()
	s.holds.add(s.bytes)
}

func (s *rowStore) save(w *stateWriter, keep []int64) error {
	if err := w.fits(s.bytes); err != nil { // before the work of compact
		return err
	}
	if err := s.compact(keep); err != nil {
		return err
	}
	if len(keep) > 0 && s.recs[0].NumRows() < int64(len(keep)) {
		return fmt.Errorf("a saved position cannot hold the shuffle buffer of %d rows, whose texts take more than 2 GiB: put Prefetch after the shuffle, or make it smaller", len(keep))
	}
	w.int(int64(len(keep)))
	w.int(int64(len(s.recs)))
	for _, rec := range s.recs {
		if err := w.record(rec); err != nil {
			return err
		}
	}
	return s.up.save(w)
}

func (s *rowStore) load(ctx context.Context, r *stateReader, limit int) ([]int64, error) {
	s.replace(nil)
	s.ended = false
	n, parts := r.count(int64(limit)), r.count(2)
	var recs []arrow.Record
	for range parts {
		rec, err := r.record(s.node.schema)
		if err == nil && rec == nil {
			err = fmt.Errorf("%w: a shuffle buffer is empty", ErrBadState)
		}
		if err != nil {
			releaseAll(recs)
			return nil, err
		}
		recs = append(recs, rec)
	}
	s.replace(recs)
	if (n > 0 && (parts == 0 || recs[0].NumRows() != n)) || (n == 0 && parts > 1) {
		return nil, fmt.Errorf("%w: its shuffle buffer lacks rows", ErrBadState)
	}
	s.pos = 0
	if n > 0 && parts == 1 {
		s.pos = n
	}
	keep := make([]int64, n)
	for i := range keep {
		keep[i] = int64(i)
	}
	return keep, s.up.load(ctx, r)
}

func (s *rowStore) close() error {
	s.replace(nil)
	return s.up.close()
}
