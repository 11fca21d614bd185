package distribute

import (
	"errors"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// stepsAhead is how many batches are copied to a device beside the one that is computed there.
const stepsAhead = 2

// aheadQueue is the batches that are on their way to the device of a program, in their order.
type aheadQueue struct {
	program *engine.Program
	late    int // feeds behind a batch's own, which its step adds
	queue   []copied
}

// copied is a batch on its way to the accelerator.
type copied struct {
	ahead *engine.Ahead
	of    []*tensor.Tensor
}

// is reports whether the batch is b: the caller keeps the list of feeds unchanged.
func (c copied) is(b Batch) bool {
	return len(c.of) == len(b.Feeds) && (len(c.of) == 0 || &c.of[0] == &b.Feeds[0])
}

// prefetch begins to copy the batch of a step that comes, unless nobody made the steps of those before it.
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

// take returns the prefetched batch, or copies the batch to the accelerator now. Batches prefetched before it
// are dropped.
func (q *aheadQueue) take(b Batch) (*engine.Ahead, error) {
	at := slices.IndexFunc(q.queue, func(c copied) bool { return c.is(b) })
	if at < 0 { // the first step's
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

// forget drops all.
func (q *aheadQueue) forget() error { return q.drop(len(q.queue)) }
