package distribute

import (
	"errors"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// stepsAhead is the number of batches that are copied to a device ahead of the one that it computes.
const stepsAhead = 2

// aheadQueue has the batches that are being copied to a program's device, in order.
type aheadQueue struct {
	program *engine.Program
	late    int // feeds after the batch's own, which the step adds
	queue   []copied
}

// copied is a batch that is being copied to the accelerator.
type copied struct {
	ahead *engine.Ahead
	of    []*tensor.Tensor
}

// is reports whether the batch is b. It compares lists of feeds, which callers do not change.
func (c copied) is(b Batch) bool {
	return len(c.of) == len(b.Feeds) && (len(c.of) == 0 || &c.of[0] == &b.Feeds[0])
}

// prefetch begins to copy the batch of a coming step, unless the steps of earlier batches were not made.
func (q *aheadQueue) prefetch(b Batch) error {
	if len(q.queue) > stepsAhead {
		return nil
	}
	a, err := q.begin(b)
	if err == nil {
		q.queue = append(q.queue, copied{a, b.Feeds})
	}
	return err
}

// begin begins to copy a batch.
func (q *aheadQueue) begin(b Batch) (*engine.Ahead, error) {
	feeds := b.Feeds
	if q.late > 0 {
		feeds = append(slices.Clone(feeds), make([]*tensor.Tensor, q.late)...)
	}
	return q.program.Ahead(b.Rows, feeds)
}

// take returns the prefetched batch, or copies the batch to the accelerator now. It drops batches that were
// prefetched before it.
func (q *aheadQueue) take(b Batch) (*engine.Ahead, error) {
	at := slices.IndexFunc(q.queue, func(c copied) bool { return c.is(b) })
	if at < 0 { // the batch of the first step
		if err := q.drop(max(len(q.queue)-stepsAhead, 0)); err != nil {
			return nil, err
		}
		return q.begin(b)
	}
	if err := q.drop(at); err != nil {
		return nil, err
	}
	a := q.queue[0].ahead
	q.queue = slices.Delete(q.queue, 0, 1)
	return a, nil
}

// drop drops the first n batches.
func (q *aheadQueue) drop(n int) error {
	var errs []error
	for _, c := range q.queue[:n] {
		errs = append(errs, c.ahead.Drop())
	}
	q.queue = slices.Delete(q.queue, 0, n)
	return errors.Join(errs...)
}

// forget drops all batches.
func (q *aheadQueue) forget() error { return q.drop(len(q.queue)) }
