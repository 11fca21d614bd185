package inputs

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// MemoryLimit bounds the bytes of rows that each pass over the pipeline holds ahead of the consumer: in Prefetch, ParallelMap, blocks of
// files that are parsed ahead, and the buffers of Shuffle. Put it last in the pipeline. It changes no row, no order and no position.
//
// Steps wait while the bytes are spent, but each may hold one record, so that no step waits for another: a pass may exceed the limit by one
// record per step. A Cache and the buffer of a Shuffle of a stream cannot wait: rows beyond the limit are an error that says how much they need.
func MemoryLimit(bytes int64) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if bytes <= 0 {
			return up.refuse("memory limit must be positive, got %d bytes", bytes)
		}
		d := up.derive("", nil)
		d.desc, d.label = up.desc, up.stepName() // positions are the same without a limit
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			b := newBudget(bytes)
			st, err := up.open(b.in(ctx), epoch)
			return budgetStage{st, b}, err
		}
		return d
	}
}

// budget is how many bytes the steps of a pass may hold.
type budget struct {
	limit   int64
	mu      sync.Mutex
	used    int64
	most    int64         // highest value of used
	waiting int           // steps that wait
	freed   chan struct{} // closed when bytes are given back
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{})} }

type budgetKey struct{}

func (b *budget) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// budgetOf returns the budget of a pass, nil if it has none.
func budgetOf(ctx context.Context) *budget {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	return b
}

// budgetStage adds the budget to the contexts of pull and load.
type budgetStage struct {
	stage
	of *budget
}

func (s budgetStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	return s.stage.pull(s.of.in(ctx), limit)
}

func (s budgetStage) load(ctx context.Context, r *stateReader) error {
	return s.stage.load(s.of.in(ctx), r)
}

// holder is what one step holds of a budget. A holder of a nil budget has no bound.
type holder struct {
	of    *budget
	bytes int64 // guarded by the budget's mu
}

// take waits until n more bytes may be held, or the step holds none. It reports whether it had to wait; ok is false if stop ended the wait.
func (h *holder) take(n int64, stop <-chan struct{}) (waited, ok bool) {
	b := h.of
	if b == nil {
		return false, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for h.bytes > 0 && b.used+n > b.limit {
		waited = true
		freed := b.freed
		b.waiting++
		b.mu.Unlock()
		select {
		case <-freed:
			ok = true
		case <-stop:
			ok = false
		}
		b.mu.Lock()
		if b.waiting--; !ok {
			return waited, false
		}
	}
	h.change(n)
	return waited, true
}

// add holds n more bytes without waiting, or fewer if n is negative. It returns the bytes that the step holds.
func (h *holder) add(n int64) int64 {
	if h.of == nil {
		return 0
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.change(n)
	return h.bytes
}

// drop gives all bytes back.
func (h *holder) drop() {
	if h.of != nil {
		h.of.mu.Lock()
		defer h.of.mu.Unlock()
		h.change(-h.bytes)
	}
}

// change is add; the caller holds mu.
func (h *holder) change(n int64) {
	b := h.of
	h.bytes += n
	b.used += n
	b.most = max(b.most, b.used)
	if n < 0 && b.waiting > 0 {
		close(b.freed)
		b.freed = make(chan struct{})
	}
}

// exceeds reports whether bytes, which cannot wait, are more than the whole budget.
func (b *budget) exceeds(bytes int64) bool { return b != nil && bytes > b.limit }

// mebibytes prints bytes, rounded up.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
