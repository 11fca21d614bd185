package inputs

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// snapshotEvery is the number of records that a background reader passes on between
// two snapshots of its upstream. A state is the last snapshot and the number of
// rows since. Restoring reads at most this many records again, or, where the snapshot
// would hold rows, as a shuffle of a stream does, snapshotShare times as many bytes
// as it would hold: taking snapshots then costs little beside reading.
const (
	snapshotEvery = 32
	snapshotShare = 16
	snapshotSmall = 1 << 20 // bytes of rows that are always taken
)

// maxAhead bounds records read ahead and workers: a larger number is a mistake.
const maxAhead = 1 << 14

// Prefetch reads up to n records ahead in the background; n <= 0 reads none.
func Prefetch(n int) Transform { return prefetch(n, false) }

// AutoPrefetch reads records ahead in the background, at first two. Where the consumer still has to wait because the reader works in bursts, it reads more
// ahead: up to 16, and 64 MiB or the MemoryLimit.
func AutoPrefetch() Transform { return prefetch(autoPrefetch, true) }

// autoPrefetch is the number of batches that are enough to hide the time to make one, where that is always the same.
const autoPrefetch = 2

func prefetch(n int, tuned bool) Transform {
	return func(ds Dataset) Dataset {
		if n <= 0 {
			return ds
		}
		up := adopt(ds)
		if n > maxAhead {
			return up.refuse("prefetch of %d batches: expected at most %d", n, maxAhead)
		}
		d := up.derive("prefetch", nil)
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			ctx = inBackground(ctx, d)
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &aheadStage{ctx: ctx, up: st, resume: resumeOf(up), depth: n, tuned: tuned, budget: budgetOf(ctx), copier: newBatchCopier(BatchMemoryOf(ctx), d.schema)}, nil
		}
		return d
	}
}

// ParallelMap applies m to records in the given number of goroutines, keeping their
// order. It delivers what Map delivers, for any number.
func ParallelMap(m Mapper, workers int) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if workers <= 0 || workers > maxAhead {
			return up.refuse("parallel map needs at least 1 worker and at most %[2]d, got %[1]d: set parallelism", workers, maxAhead)
		}
		d := m.node(up)
		d.desc += "*"
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			ctx = inBackground(ctx, d)
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			bound := m.bind(d, epoch)
			return &aheadStage{ctx: ctx, up: st, resume: resumeOf(up), m: &bound, depth: workers, workers: workers, budget: budgetOf(ctx), copier: newBatchCopier(BatchMemoryOf(ctx), d.schema)}, nil
		}
		return d
	}
}

// aheadStage reads its upstream in a goroutine, and maps in others if it has a
// mapper. The consumer's side keeps the position: the upstream's state at the
// latest snapshot that it has passed, and the rows delivered since.
type aheadStage struct {
	ctx     context.Context // of Iterate: ends the background work
	up      stage
	resume  Resume // of its sources
	m       *boundMapper
	depth   int
	tuned   bool // the depth is where it begins
	workers int
	budget  *budget      // nil: none
	copier  *batchCopier // nil: records are not copied
	clock   *stepClock   // of the workers; nil: they are not measured
	cutter

	run   *aheadRun
	base  []byte     // state of up, with the reader's row; nil before the start
	since int64      // rows delivered since base
	cur   *aheadItem // received, but perhaps not yet mapped
	err   error      // ended the stream; io.EOF included
}

// aheadItem is one record in flight.
type aheadItem struct {
	rec      arrow.Record
	err      error
	first    int64         // its first row's position in the pass
	held     int64         // bytes of the budget
	snapshot []byte        // state before this record, now and then
	done     chan struct{} // has an element once rec and err are final
}

// spareItems are items that were passed on and can be reused.
var spareItems = sync.Pool{New: func() any { return &aheadItem{done: make(chan struct{}, 1)} }}

func (s *aheadStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := s.cutter.pull(ctx, limit, s.receive)
	if err == nil {
		s.since += rec.NumRows()
	}
	return rec, err
}

// receive waits for the next record. One that was not ready when ctx ended
// stays for the next call.
func (s *aheadStage) receive(ctx context.Context) (arrow.Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.run == nil {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	if s.cur == nil {
		waits := len(s.run.queue) == 0
		select {
		case item, ok := <-s.run.queue:
			if !ok {
				return nil, context.Cause(s.run.ctx)
			}
			s.cur = item
			s.run.tuner.leave(waits)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-s.cur.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.run.ctx.Done():
		return nil, context.Cause(s.run.ctx)
	}
	item := s.cur
	s.cur = nil
	if item.err != nil {
		s.err = item.err
		return nil, s.err
	}
	if item.snapshot != nil {
		s.base, s.since = item.snapshot, 0
	}
	rec := item.rec
	s.run.holds.add(-item.held)
	*item = aheadItem{done: item.done}
	spareItems.Put(item)
	return rec, nil
}

func (s *aheadStage) save(w *stateWriter) error {
	base := s.base
	if base == nil {
		var err error
		if base, err = snapshot(s.up, 0, &stateWriter{}); err != nil {
			return err
		}
	}
	w.reference(base) // snapshots do not change
	w.int(s.since)
	return nil
}

// snapshot returns the state of a stage whose next row is row of the pass, written by w.
func snapshot(up stage, row int64, w *stateWriter) ([]byte, error) {
	w.int(row)
	err := up.save(w)
	return w.all(), err
}

func (s *aheadStage) load(ctx context.Context, r *stateReader) error {
	base, since := r.bytes(), r.count(math.MaxInt64)
	if r.err != nil {
		return r.err
	}
	since, err := s.resume.again(since)
	if err != nil {
		return err
	}
	s.halt()
	s.err = nil
	s.base, s.since = append([]byte{}, base...), since
	return s.rewind(ctx)
}

// rewind restores the upstream to base. What it opens is measured as a part of the background's.
func (s *aheadStage) rewind(ctx context.Context) error {
	if p := partOf(s.ctx); p != nil {
		ctx = withPart(ctx, p)
	}
	sub := &stateReader{buf: s.base}
	sub.count(math.MaxInt64)
	if sub.err != nil {
		return sub.err
	}
	if err := s.up.load(ctx, sub); err != nil {
		return err
	}
	if sub.err == nil && len(sub.buf) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrBadState, len(sub.buf))
	}
	return sub.err
}

func (s *aheadStage) halt() {
	if s.run != nil {
		s.run.stop(s.cur)
	}
	s.run, s.cur = nil, nil
	s.discard()
}

func (s *aheadStage) close() error {
	s.halt()
	s.copier.close()
	return s.up.close()
}
