package inputs

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// aheadRun is the background work of an aheadStage.
type aheadRun struct {
	ctx    context.Context
	cancel context.CancelFunc
	queue  chan *aheadItem
	jobs   chan *aheadItem // nil without a mapper
	copier *batchCopier
	holds  holder
	tuner  *depthTuner   // nil: the depth is fixed
	known  chan struct{} // closed once the size of a mapped record is known; nil: not needed
	once   sync.Once
	most   atomic.Int64 // bytes of the largest mapped record
	wg     sync.WaitGroup
}

// begin starts reading at base plus since rows.
func (s *aheadStage) begin() error {
	if s.base == nil {
		var err error
		if s.base, err = snapshot(s.up, 0, &stateWriter{}); err != nil {
			return err
		}
	}
	at := &stateReader{buf: s.base}
	run := &aheadRun{queue: make(chan *aheadItem, s.depth), copier: s.copier, holds: holder{of: s.budget}}
	if s.tuned {
		run.queue, run.tuner = make(chan *aheadItem, tunedMost), newDepthTuner(s.depth, s.budget)
	}
	run.ctx, run.cancel = context.WithCancel(s.ctx)
	if s.m != nil {
		run.jobs = make(chan *aheadItem, s.workers)
		if s.budget != nil {
			run.known = make(chan struct{})
		}
		for range s.workers {
			run.wg.Go(func() { run.work(s.m, s.clock, s.workers) })
		}
	}
	row, skip := at.count(math.MaxInt64), s.since
	run.wg.Go(func() { run.read(s.up, row, skip) })
	s.run = run
	return nil
}

// read passes on the upstream's records, without the first skip rows. It takes
// snapshots at the same records whether or not the pass was restored in between, so
// that equal positions have equal states.
func (r *aheadRun) read(up stage, row, skip int64) {
	defer close(r.queue)
	if r.jobs != nil {
		defer close(r.jobs)
	}
	from := &source{up: up, row: row}
	ctx := r.ctx
	if r.jobs != nil {
		ctx = withoutBatchMemory(ctx)
	}
	for {
		item := spareItems.Get().(*aheadItem)
		item.rec, item.err = from.skip(ctx, &skip)
		if item.rec == nil && item.err == nil {
			item.snapshot, item.err = from.snapshot()
			if item.err == nil {
				item.rec, item.err = from.pull(ctx)
			}
		}
		if item.rec != nil {
			item.first = from.row
			from.row += item.rec.NumRows()
			if r.jobs == nil {
				item.rec, item.err = r.copier.copyRecord(item.rec)
			}
		}
		last := item.err != nil // a worker may change the item once it is sent
		if !r.reserve(item) || !r.send(item) || last || !r.learned() {
			return
		}
	}
}

// reserve waits until there is room for an item. If the work ends first, it releases the item.
func (r *aheadRun) reserve(item *aheadItem) bool {
	ok := true
	if item.rec != nil && (r.holds.of != nil || r.tuner != nil) {
		item.held = max(rowBytes(item.rec), r.most.Load())
		var waited bool
		if waited, ok = r.holds.take(item.held, r.ctx.Done()); waited {
			r.tuner.spent()
		}
	}
	if ok = ok && r.tuner.enter(item.held, r.ctx.Done()); !ok {
		item.release()
	}
	return ok
}

// learned waits until the size of a mapped record is known, which may be far larger than its input.
func (r *aheadRun) learned() bool {
	if r.known == nil {
		return true
	}
	select {
	case <-r.known:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// mapped records the true size of an item that a worker has mapped.
func (r *aheadRun) mapped(item *aheadItem) {
	if r.known == nil {
		return
	}
	if item.rec != nil {
		size := rowBytes(item.rec)
		for most := r.most.Load(); size > most && !r.most.CompareAndSwap(most, size); most = r.most.Load() {
		}
		r.holds.add(size - item.held)
		item.held = size
	}
	r.once.Do(func() { close(r.known) })
}

// source is an upstream with its position.
type source struct {
	up      stage
	row     int64 // row of the pass
	records int   // pulled since the start
	bytes   int64 // in the records pulled since the last snapshot
}

// snapshot returns the state of the upstream if a snapshot is due, else nil.
func (s *source) snapshot() ([]byte, error) {
	if s.records == 0 || s.records%snapshotEvery != 0 {
		return nil, nil
	}
	b, err := snapshot(s.up, s.row, &stateWriter{small: true, room: max(s.bytes/snapshotShare, snapshotSmall)})
	if errors.Is(err, errLargeState) {
		return nil, nil
	}
	s.bytes = 0
	return b, err
}

func (s *source) pull(ctx context.Context) (arrow.Record, error) {
	rec, err := s.up.pull(ctx, 0)
	if err == nil {
		s.records++
		s.bytes += rowBytes(rec)
	}
	return rec, err
}

// skip skips rows. It returns the rest of the record in which they end, nil if
// there is no rest.
func (s *source) skip(ctx context.Context, rows *int64) (arrow.Record, error) {
	for *rows > 0 {
		rec, err := s.pull(ctx)
		if err != nil {
			return nil, err
		}
		n, cut := rec.NumRows(), min(*rows, rec.NumRows())
		s.row += cut
		*rows -= cut
		if cut < n {
			defer rec.Release()
			return rec.NewSlice(cut, n), nil
		}
		rec.Release()
	}
	return nil, nil
}

// send queues an item for the consumer and, with a mapper, for the workers. It
// reports whether the reader may continue.
func (r *aheadRun) send(item *aheadItem) bool {
	mapped := r.jobs != nil && item.err == nil
	if !mapped {
		item.done <- struct{}{}
	}
	select {
	case r.queue <- item:
	case <-r.ctx.Done():
		item.release()
		return false
	}
	if !mapped {
		return true
	}
	select {
	case r.jobs <- item:
		return true
	case <-r.ctx.Done():
		return false // stop will release it
	}
}

// work maps items until there are no more, as one of several workers.
func (r *aheadRun) work(m *boundMapper, clock *stepClock, workers int) {
	for item := range r.jobs {
		began := time.Now()
		in := item.rec
		item.rec, item.err = m.apply(r.ctx, in, item.first)
		in.Release()
		if item.err == nil {
			item.rec, item.err = r.copier.copyRecord(item.rec)
		}
		if clock != nil {
			clock.busy.Add(int64(time.Since(began)) / int64(workers))
		}
		r.mapped(item)
		item.done <- struct{}{}
	}
}

// stop ends the background work and releases the records in flight; cur is the item
// that the consumer holds, or nil.
func (r *aheadRun) stop(cur *aheadItem) {
	r.cancel()
	r.wg.Wait()
	if cur != nil {
		cur.release()
	}
	for item := range r.queue {
		item.release()
	}
	r.holds.drop()
}

func (item *aheadItem) release() {
	if item.rec != nil {
		item.rec.Release()
		item.rec = nil
	}
}
