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
// rows since. Restoring reads at most this many records again. If the snapshot has
// to hold rows, as for a shuffle of a stream, restoring may read up to snapshotShare times
// as many bytes: snapshots then cost little compared to reading.
const (
	snapshotEvery = 32
	snapshotShare = 16
	snapshotSmall = 1 << 20 // bytes of rows that a snapshot may always have
)

// maxAhead bounds records read ahead and workers, to catch mistakes.
const maxAhead = 1 << 14

// Prefetch reads up to n records ahead in the background; n <= 0 reads none.
func Prefetch(n int) Transform { return prefetch(n, false) }

// AutoPrefetch reads records ahead in the background, two at first. If the consumer still has to wait because the reader works in bursts, it reads more
// ahead: up to 16 records, and 64 MiB or the MemoryLimit.
func AutoPrefetch() Transform { return prefetch(autoPrefetch, true) }

// autoPrefetch is the number of batches that hide the time to make one, if that time is constant.
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

// ParallelMap applies m to records in the given number of goroutines. It keeps their
// order, and delivers the same records as Map, for any number.
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
	tuned   bool // depth is only the initial depth
	workers int
	budget  *budget      // nil: none
	copier  *batchCopier // nil: records are not copied
	clock   *stepClock   // of the workers; nil: they are not measured
	cutter

	run   *aheadRun
	base  []byte     // state of up, with the reader's row; nil before the start
	since int64      // rows delivered since base
	cur   *aheadItem // received, but perhaps not yet mapped
	err   error      // ended the stream, may be io.EOF
}

// aheadItem is one record in flight.
type aheadItem struct {
	rec      arrow.Record
	err      error
	first    int64         // position of its first row in the pass
	held     int64         // bytes taken from the budget
	snapshot []byte        // state before this record; set for some records
	done     chan struct{} // has an element once rec and err are final
}

// spareItems are items for reuse.
var spareItems = sync.Pool{New: func() any { return &aheadItem{done: make(chan struct{}, 1)} }}

func (s *aheadStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := s.cutter.pull(ctx, limit, s.receive)
	if err == nil {
		s.since += rec.NumRows()
	}
	return rec, err
}

// receive waits for the next record. If ctx ends first, the record
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

// snapshot returns the state of a stage, written by w; its next row is row of the pass.
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

// rewind restores the upstream to base. Stages that it opens are measured as part of the background.
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
