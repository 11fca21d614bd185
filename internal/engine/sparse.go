package engine

import (
	"sync"

	"github.com/goestimator/goestimator/internal/kernels"
)

// sparseUpdate applies a rule to the rows that the indices name, rows of equal index summed first, each row on one
// thread.
func sparseUpdate[T kernels.Float](c *binding, b *bound[T]) runFunc {
	u := &uniqueRows[T]{}
	var free partList[T]
	do := parallel(16, func(lo, hi int) {
		p := free.get()
		defer free.put(p)
		*p = b.part
		n := u.width
		for k := lo; k < hi; k++ {
			at := int(u.ids[k])
			for i := range b.vars {
				p.w[i] = b.part.w[i][at*n : (at+1)*n]
			}
			p.g = u.sum(k)
			b.apply(p)
		}
	})
	c.onBatch = func() error { u.prepare(b.rows); return nil }
	return func() error {
		if err := u.collect(b.rows); err != nil {
			return err
		}
		b.load()
		for i, v := range b.vars {
			b.part.w[i] = elements[T](v)
		}
		do(len(u.ids))
		return nil
	}
}

// partList keeps one part for every thread that needed one at once.
type partList[T kernels.Float] struct {
	mu   sync.Mutex
	free []*part[T]
}

func (l *partList[T]) get() *part[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return &part[T]{}
	}
	p := l.free[n-1]
	l.free = l.free[:n-1]
	return p
}

func (l *partList[T]) put(p *part[T]) {
	l.mu.Lock()
	l.free = append(l.free, p)
	l.mu.Unlock()
}

// uniqueRows groups rows by index with a hash table, in the order of their first appearance. Its memory is of the
// order of the rows, never of the variable.
type uniqueRows[T kernels.Float] struct {
	width  int
	ids    []int64 // the distinct indices
	first  []int32 // first row of each
	last   []int32
	next   []int32 // next row of the same index, -1 at the end
	table  []int32 // hash table of positions in ids, plus 1
	sums   []T
	values []T
}

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
	if cap(u.sums) < rows.values.n {
		u.sums = make([]T, rows.values.n)
	}
}

// collect groups the rows of this run.
func (u *uniqueRows[T]) collect(rows *rowUpdate) error {
	if err := rows.ids.check(rows.size); err != nil {
		return err
	}
	clear(u.table)
	u.ids, u.first, u.last = u.ids[:0], u.first[:0], u.last[:0]
	n := rows.ids.v.n
	u.next, u.values, u.width = u.next[:n], view[T](rows.values), 0
	if n > 0 {
		u.width = rows.values.n / n
	}
	for r := range n {
		u.next[r] = -1
		k := u.find(int64(rows.ids.at(r)))
		if k == len(u.first) {
			u.first, u.last = append(u.first, int32(r)), append(u.last, int32(r))
			continue
		}
		u.next[u.last[k]] = int32(r)
		u.last[k] = int32(r)
	}
	return nil
}

// find returns the position of id among the distinct ones, adding it at the end.
func (u *uniqueRows[T]) find(id int64) int {
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
	n, r := u.width, int(u.first[k])
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
