package engine

import (
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// sparseBlock is the number of elements that a rule works on at a time: their copies stay in the L1 cache.
const sparseBlock = 1024

// sparseUpdate first sums gradient rows of equal index, then applies a rule to the rows that the indices name, each row on
// one thread. As rules are elementwise, it runs the rule on copies of many rows at once.
func sparseUpdate[T kernels.Float](c *binding, b *bound[T]) runFunc {
	u := &uniqueRows[T]{}
	var free partList[T]
	do := parallel(256, func(lo, hi int) {
		k := free.get()
		defer free.put(k)
		step := max(sparseBlock/max(u.width, 1), 1)
		for ; lo < hi; lo += step {
			k.update(b, u, lo, min(lo+step, hi))
		}
	})
	c.onBatch = func() error { u.prepare(b.rows); return nil }
	return func() error {
		if err := u.collect(b.rows); err != nil {
			return err
		}
		b.load()
		for i, v := range b.vars {
			b.part.W[i] = elements[T](v)
		}
		do(len(u.ids))
		return nil
	}
}

// rowBlock is a block of rows of all variables and of the gradient, copied together.
type rowBlock[T kernels.Float] struct {
	kernels.Part[T]
	mem []T
}

// update gathers the rows of the distinct indices [lo, hi), applies the rule and puts them back.
func (k *rowBlock[T]) update(b *bound[T], u *uniqueRows[T], lo, hi int) {
	n := u.width
	size := (hi - lo) * n
	if need := size * (len(b.vars) + 1); cap(k.mem) < need {
		k.mem = make([]T, need)
	}
	k.S, k.Nesterov, k.Count = b.part.S, b.part.Nesterov, b.part.Count
	k.G = k.mem[:size]
	for i := range b.vars {
		k.W[i] = k.mem[(i+1)*size:][:size]
	}
	ids := u.ids[lo:hi]
	switch {
	case u.asTheyAre:
		k.G = u.values[lo*n : hi*n]
	case n == 1:
		copy(k.G, u.sums[lo:hi])
	default:
		for r := range ids {
			copy(k.G[r*n:(r+1)*n], u.sum(lo+r))
		}
	}
	for i := range b.vars {
		gatherRows(k.W[i], b.part.W[i], ids, n)
	}
	b.apply(&k.Part)
	for i := range b.vars {
		scatterRows(b.part.W[i], k.W[i], ids, n)
	}
}

// gatherRows copies rows of n elements of table to consecutive places. Rows of
// one element, a linear model's weights, are copied without a call for each, so
// that their cache misses overlap.
func gatherRows[T kernels.Float](dst, table []T, ids []int64, n int) {
	if n == 1 {
		dst = dst[:len(ids)]
		for i, id := range ids {
			dst[i] = table[id]
		}
		return
	}
	for lo := 0; lo < len(ids); lo += touched {
		some := ids[lo:min(lo+touched, len(ids))]
		touch(table, some, n)
		for i, id := range some {
			copy(dst[(lo+i)*n:(lo+i+1)*n], table[int(id)*n:(int(id)+1)*n])
		}
	}
}

// touched is the number of rows that are touched before they are copied.
const touched = 64

// touch reads an element of each row, so that the cache misses of many rows
// overlap. A copy has too many instructions for the processor to reach the next
// row. touch is not inlined, because the compiler would drop the reads.
//
//go:noinline
func touch[T any, I int32 | int64](table []T, ids []I, n int) (last T) {
	for _, id := range ids {
		last = table[int(id)*n]
	}
	return last
}

// scatterRows is the inverse of gatherRows.
func scatterRows[T kernels.Float](table, src []T, ids []int64, n int) {
	if n == 1 {
		src = src[:len(ids)]
		for i, id := range ids {
			table[id] = src[i]
		}
		return
	}
	for i, id := range ids {
		copy(table[int(id)*n:(int(id)+1)*n], src[i*n:(i+1)*n])
	}
}

// partList keeps a block for each thread that needed one at the same time.
type partList[T kernels.Float] struct {
	mu   sync.Mutex
	free []*rowBlock[T]
}

func (l *partList[T]) get() *rowBlock[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return &rowBlock[T]{}
	}
	p := l.free[n-1]
	l.free = l.free[:n-1]
	return p
}

func (l *partList[T]) put(p *rowBlock[T]) {
	l.mu.Lock()
	l.free = append(l.free, p)
	l.mu.Unlock()
}

// uniqueRows groups rows by index with a hash table, in the order of their first appearance. Its memory grows with the
// rows, never with the variable.
type uniqueRows[T kernels.Float] struct {
	width  int
	ids    []int64 // the distinct indices
	first  []int32 // first row of each
	last   []int32
	next   []int32 // next row of the same index, -1 at the end
	table  []int32 // hash table of positions in ids, plus 1
	direct []int32 // used instead of table if the variable has few rows: positions plus 1 by index; zeros between runs
	sums   []T
	values []T

	asTheyAre bool // row k of values belongs to distinct index k; first, last, next and sums are not used
}

// directRows is the most variable rows for each gradient row with which direct is used.
const directRows = 16

// prepare makes room for the current batch.
func (u *uniqueRows[T]) prepare(rows *rowUpdate) {
	n := rows.ids.v.n
	size := 16
	for size < 2*n {
		size *= 2
	}
	if cap(u.table) < size {
		u.table = make([]int32, size)
		u.ids, u.first, u.last, u.next = make([]int64, 0, n), make([]int32, 0, n), make([]int32, 0, n), make([]int32, n)
	}
	u.table = u.table[:size]
	if cap(u.ids) < n {
		u.ids, u.first, u.last, u.next = make([]int64, 0, n), make([]int32, 0, n), make([]int32, 0, n), make([]int32, n)
	}
	if u.direct == nil && rows.size <= directRows*n {
		u.direct = make([]int32, rows.size)
	}
	if cap(u.sums) < rows.values.n {
		u.sums = make([]T, rows.values.n)
	}
}

// collect groups the rows of this run.
func (u *uniqueRows[T]) collect(rows *rowUpdate) error {
	if err := rows.ids.below(rows.size); err != nil {
		return err
	}
	u.ids, u.first, u.last = u.ids[:0], u.first[:0], u.last[:0]
	n := rows.ids.v.n
	u.next, u.values, u.width = u.next[:n], view[T](rows.values), 0
	if n > 0 {
		u.width = rows.values.n / n
	}
	if rows.ids.v.typ.DType == tensor.Int32 {
		group(u, view[int32](rows.ids.v))
	} else {
		group(u, view[int64](rows.ids.v))
	}
	return nil
}

// group groups the rows by their ids; rows of negative ids are in no group.
func group[T kernels.Float, I int32 | int64](u *uniqueRows[T], ids []I) {
	for len(ids) > 0 && ids[len(ids)-1] < 0 { // padding
		ids = ids[:len(ids)-1]
	}
	if takeIncreasing(u, ids) {
		return
	}
	if u.width == 1 && u.direct != nil {
		groupDirectly(u, ids)
		return
	}
	if u.direct == nil {
		clear(u.table)
	} else {
		defer u.reset()
	}
	if u.width == 1 {
		groupScalars(u, ids)
		return
	}
	for r, id := range ids {
		u.next[r] = -1
		if id < 0 {
			continue
		}
		k := u.find(int64(id))
		if k == len(u.first) {
			u.first, u.last = append(u.first, int32(r)), append(u.last, int32(r))
			continue
		}
		u.next[u.last[k]] = int32(r)
		u.last[k] = int32(r)
	}
}

// takeIncreasing takes increasing indices, such as parameter servers get, as they
// are, since no two are equal. It reports false if they are not increasing.
func takeIncreasing[T kernels.Float, I int32 | int64](u *uniqueRows[T], ids []I) bool {
	list, last := u.ids[:len(ids)], I(-1)
	for i, id := range ids {
		if id <= last {
			u.asTheyAre = false
			return false
		}
		list[i], last = int64(id), id
	}
	u.ids, u.asTheyAre = list, true
	return true
}

// groupScalars sums rows of one element while it groups them, in their order.
func groupScalars[T kernels.Float, I int32 | int64](u *uniqueRows[T], ids []I) {
	sums, values := u.sums[:len(ids)], u.values[:len(ids)]
	for r, id := range ids {
		if id < 0 {
			continue
		}
		known := len(u.ids)
		if k := u.find(int64(id)); k == known {
			sums[k] = values[r]
		} else {
			sums[k] += values[r]
		}
	}
}

// groupDirectly is groupScalars for a variable with few rows.
func groupDirectly[T kernels.Float, I int32 | int64](u *uniqueRows[T], ids []I) {
	known, sums, values := u.ids[:len(ids)], u.sums[:len(ids)], u.values[:len(ids)]
	n := 0
	for r, id := range ids {
		if id < 0 {
			continue
		}
		if k := u.direct[id]; k > 0 {
			sums[k-1] += values[r]
			continue
		}
		known[n], sums[n] = int64(id), values[r]
		n++
		u.direct[id] = int32(n)
	}
	u.ids = known[:n]
	u.reset()
}

// reset sets the used entries of direct to zero again.
func (u *uniqueRows[T]) reset() {
	for _, id := range u.ids {
		u.direct[id] = 0
	}
}

// find returns the position of id among the distinct ids, and adds it if it is new.
func (u *uniqueRows[T]) find(id int64) int {
	if u.direct != nil {
		k := u.direct[id]
		if k == 0 {
			u.ids = append(u.ids, id)
			k = int32(len(u.ids))
			u.direct[id] = k
		}
		return int(k - 1)
	}
	mask := uint64(len(u.table) - 1)
	for h := uint64(id) * 0x9E3779B97F4A7C15 >> 20; ; h++ {
		k := u.table[h&mask]
		if k == 0 {
			u.ids = append(u.ids, id)
			u.table[h&mask] = int32(len(u.ids))
			return len(u.ids) - 1
		}
		if u.ids[k-1] == id {
			return int(k - 1)
		}
	}
}

// sum returns the sum of the rows of distinct index k, in their order.
func (u *uniqueRows[T]) sum(k int) []T {
	n := u.width
	switch {
	case u.asTheyAre:
		return u.values[k*n : (k+1)*n]
	case n == 1:
		return u.sums[k : k+1]
	}
	r := int(u.first[k])
	row := u.values[r*n : (r+1)*n]
	if u.next[r] < 0 {
		return row
	}
	total := u.sums[r*n : (r+1)*n]
	copy(total, row)
	for r := u.next[r]; r >= 0; r = u.next[r] {
		for i, e := range u.values[int(r)*n : (int(r)+1)*n] {
			total[i] += e
		}
	}
	return total
}
