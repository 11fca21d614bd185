package forest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Batch is a batch of examples. Each bank has a row per example, with a value for each of its features.
type Batch struct {
	Rows       int
	Numbers    []float32 // NaN: missing
	Truths     []float32 // true from 0.5 on; NaN: missing
	Categories []int32   // -1: missing
	Sets       []int32   // values of sets; a set that begins with -1 is missing
	Splits     []int64   // set i of an example has Sets[Splits[i]:Splits[i+1]], counted from the first set of the first example
}

// errBatch says that a batch does not have the model's features.
var errBatch = errors.New("the features do not fit the model")

// check compares a batch with the features of the model.
func (f *Forest) check(b *Batch) error {
	n := f.Features()
	for bank, have := range map[int]int{numbers: len(b.Numbers), truths: len(b.Truths), categories: len(b.Categories)} {
		if have != b.Rows*n[bank] {
			return fmt.Errorf("%w: %d values of %d examples, expected %d each", errBatch, have, b.Rows, n[bank])
		}
	}
	if n[sets] == 0 {
		return nil
	}
	if len(b.Splits) != b.Rows*n[sets]+1 {
		return fmt.Errorf("%w: %d splits of sets, expected %d", errBatch, len(b.Splits), b.Rows*n[sets]+1)
	}
	last := int64(0)
	for i, s := range b.Splits {
		if s < last || s > int64(len(b.Sets)) {
			return fmt.Errorf("%w: split %d of sets is %d, expected %d to %d", errBatch, i, s, last, len(b.Sets))
		}
		last = s
	}
	return nil
}

// Outputs returns the number of predictions per example.
func (f *Forest) Outputs() int { return f.sums.width }

// Predict computes Outputs predictions for each example.
func (f *Forest) Predict(ctx context.Context, b *Batch, out []float32) error {
	width := f.sums.width
	return f.each(ctx, b, func(i int, leaves []int32) { f.sums.predict(f, leaves, out[i*width:(i+1)*width]) })
}

// Leaves computes the leaf that each example reaches in each tree, as a number within the tree.
func (f *Forest) Leaves(ctx context.Context, b *Batch, out []int32) error {
	f.count.Do(f.countLeaves)
	return f.each(ctx, b, func(i int, leaves []int32) {
		for k, l := range leaves {
			out[i*len(leaves)+k] = f.places[l]
		}
	})
}

// countLeaves counts the leaves of each tree.
func (f *Forest) countLeaves() {
	f.places = make([]int32, len(f.Nodes))
	next, tree := int32(0), 0
	for i := range f.Nodes {
		if tree < len(f.Roots) && int(f.Roots[tree]) == i {
			next, tree = 0, tree+1
		}
		if f.Nodes[i].Test == 0 {
			f.places[i] = next
			next++
		}
	}
}

// each calls do with the leaves of each example.
func (f *Forest) each(ctx context.Context, b *Batch, do func(i int, leaves []int32)) error {
	if err := f.check(b); err != nil {
		return err
	}
	kernels.Parallel(b.Rows, 32, &task{f, ctx, b, do})
	return ctx.Err()
}

// task is the work of predicting a batch, for several threads.
type task struct {
	f   *Forest
	ctx context.Context
	b   *Batch
	do  func(i int, leaves []int32)
}

func (t *task) Run(lo, hi int) {
	f := t.f
	w, _ := f.workers.Get().(*worker)
	if w == nil {
		w = &worker{f.newRow(), make([]int32, len(f.Roots))}
	}
	defer f.workers.Put(w)
	for i := lo; i < hi; i++ {
		if (i-lo)%64 == 63 && t.ctx.Err() != nil {
			return
		}
		w.fill(f, t.b, i)
		for k, root := range f.Roots {
			w.leaves[k] = f.leaf(root, w.row)
		}
		t.do(i, w.leaves)
	}
	w.forget(f)
}

// worker is the memory of a thread.
type worker struct {
	*row
	leaves []int32
}

// fill reads an example.
func (w *worker) fill(f *Forest, b *Batch, i int) {
	own := func(bank, k int) int { return i*len(f.banks[bank]) + k }
	for k, c := range f.banks[numbers] {
		w.numbers[c] = f.number(c, b.Numbers[own(numbers, k)])
	}
	for k, c := range f.banks[truths] {
		w.numbers[c] = f.truth(c, b.Truths[own(truths, k)])
	}
	for k, c := range f.banks[categories] {
		w.categories[c] = f.category(c, b.Categories[own(categories, k)])
	}
	for k, c := range f.banks[sets] {
		at := own(sets, k)
		set := w.sets[c][:0]
		for _, v := range b.Sets[b.Splits[at]:b.Splits[at+1]] {
			if v < -1 || int(v) >= f.Columns[c].Categories {
				v = 0
			}
			set = append(set, v)
		}
		w.sets[c] = set
	}
}

// forget frees the memory of large sets.
func (w *worker) forget(f *Forest) {
	for _, c := range f.banks[sets] {
		if cap(w.sets[c]) > 1<<12 {
			w.sets[c] = nil
		}
	}
}

// threads is the memory that a forest keeps for its threads.
type threads struct {
	workers sync.Pool
	count   sync.Once
	places  []int32 // numbers of leaves within their trees
}
