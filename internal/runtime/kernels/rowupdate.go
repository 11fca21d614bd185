package kernels

import (
	"math/bits"
	"unsafe"
)

const (
	updateBlock = 1024    // elements of rows that a rule works on at a time: their copies stay in the L1 cache
	updateWide  = 512     // least elements of a row that is updated in place
	updateEach  = 1 << 14 // elements of rows that are worth a thread
)

// UpdateRows applies a rule to rows of variables, to update embeddings. p.W has the whole variables, and p.G has a row of width
// elements of the gradient for each id. Rows of equal id are applied one after the other, in order. Every id must be a row of the
// variables (see BadRow).
//
// The ids decide which thread does a row, so results do not depend on the number of threads. As rules are elementwise, a rule is
// applied to copies of many different rows at once.
func UpdateRows[T Float, I int32 | int64](p *Part[T], rule Rule[T], ids []I, width int) {
	p.G = p.G[:len(ids)*width]
	if len(p.G) == 0 {
		return
	}
	u := rowUpdates[T]().get()
	u.Part, u.rule, u.width = *p, rule, width
	u.ids32, u.ids64 = byWidth(ids)
	u.parts = sharers(len(p.G), updateEach)
	parallelEach(u.parts, u)
	*u = rowUpdate[T]{}
	rowUpdates[T]().put(u)
}

// sharers returns the number of threads for rows with n elements in total.
func sharers(n, each int) int {
	if n < 2*each {
		return 1
	}
	return min(Threads(), n/each)
}

// rowUpdate is the work of UpdateRows.
type rowUpdate[T Float] struct {
	Part[T]
	rule  Rule[T]
	ids32 []int32
	ids64 []int64 // where ids32 is nil
	width int
	parts int
}

var (
	rowUpdates32    freelist[rowUpdate[float32]]
	rowUpdates64    freelist[rowUpdate[float64]]
	rowBlockLists32 freelist[rowsAtOnce[float32]]
	rowBlockLists64 freelist[rowsAtOnce[float64]]
)

func rowUpdates[T Float]() *freelist[rowUpdate[T]] {
	if is32[T]() {
		return (*freelist[rowUpdate[T]])(unsafe.Pointer(&rowUpdates32))
	}
	return (*freelist[rowUpdate[T]])(unsafe.Pointer(&rowUpdates64))
}

func rowBlockLists[T Float]() *freelist[rowsAtOnce[T]] {
	if is32[T]() {
		return (*freelist[rowsAtOnce[T]])(unsafe.Pointer(&rowBlockLists32))
	}
	return (*freelist[rowsAtOnce[T]])(unsafe.Pointer(&rowBlockLists64))
}

// Run implements Task: it does the rows of some threads.
func (u *rowUpdate[T]) Run(lo, hi int) {
	b := rowBlockLists[T]().get()
	for part := lo; part < hi; part++ {
		if u.ids32 != nil {
			eachBlock(b, u, u.ids32, part)
		} else {
			eachBlock(b, u, u.ids64, part)
		}
	}
	b.Part = Part[T]{}
	rowBlockLists[T]().put(b)
}

// eachBlock updates a thread's rows in blocks.
func eachBlock[T Float, I int32 | int64](b *rowsAtOnce[T], u *rowUpdate[T], ids []I, part int) {
	b.start(u)
	for i, id := range ids {
		h := rowHash(id)
		if u.parts > 1 && shareOf(h, u.parts) != part {
			continue
		}
		if !b.add(int64(id), h) {
			b.apply(u)
			b.add(int64(id), h)
		}
		b.at = append(b.at, int32(i))
	}
	b.apply(u)
}

// rowHash spreads ids over 32 bits.
func rowHash[I int32 | int64](id I) uint32 { return uint32(uint64(id) * 0x9E3779B97F4A7C15 >> 32) }

// shareOf returns which of the threads does the rows of an id.
func shareOf(hash uint32, parts int) int { return int(uint64(hash) * uint64(parts) >> 32) }

// rowsAtOnce is a block of rows of all variables and of the gradient.
type rowsAtOnce[T Float] struct {
	Part[T]
	mem  []T
	ids  []int64  // ids of the rows, all different if rows are copied
	at   []int32  // their places among the rows of the gradient
	most int      // rows
	seen []uint16 // hash table of places in ids, plus 1; empty if rows are updated in place
}

// start makes room for the blocks of an update.
func (b *rowsAtOnce[T]) start(u *rowUpdate[T]) {
	b.Part = u.Part
	table := 0
	if b.most = touched; u.width < updateWide {
		b.most = updateBlock / u.width
		table = 1 << bits.Len(uint(2*b.most)) // two to four times as many as rows
	}
	if cap(b.seen) < table {
		b.seen = make([]uint16, table)
	}
	b.seen = b.seen[:table]
	if cap(b.ids) < b.most {
		b.ids, b.at = make([]int64, 0, b.most), make([]int32, 0, b.most)
	}
	b.ids, b.at = b.ids[:0], b.at[:0]
	if need := (len(u.W) + 1) * updateBlock; table > 0 && cap(b.mem) < need {
		b.mem = make([]T, need)
	}
	clear(b.seen)
}

// add puts an id into the block. It returns false if the id is already there or the block is full.
func (b *rowsAtOnce[T]) add(id int64, hash uint32) bool {
	if len(b.ids) == b.most {
		return false
	}
	if len(b.seen) == 0 {
		b.ids = append(b.ids, id)
		return true
	}
	mask := uint32(len(b.seen) - 1)
	for h := hash & mask; ; h = (h + 1) & mask {
		k := b.seen[h]
		if k == 0 {
			b.ids = append(b.ids, id)
			b.seen[h] = uint16(len(b.ids))
			return true
		}
		if b.ids[k-1] == id {
			return false
		}
	}
}

// apply updates the rows of the block and empties it.
func (b *rowsAtOnce[T]) apply(u *rowUpdate[T]) {
	switch {
	case len(b.ids) == 0:
	case len(b.seen) == 0:
		b.inPlace(u)
	default:
		b.copied(u)
	}
	b.ids, b.at = b.ids[:0], b.at[:0]
	clear(b.seen)
}

// copied gathers the rows, applies the rule and writes them back.
func (b *rowsAtOnce[T]) copied(u *rowUpdate[T]) {
	var z T
	n, size := len(b.ids)*u.width, u.width*int(unsafe.Sizeof(z))
	b.G = b.mem[:n]
	pickRange(bytesOf(b.G), bytesOf(u.G), b.at, size)
	for i, all := range u.W {
		if all != nil {
			b.W[i] = b.mem[(i+1)*n:][:n]
			pickRange(bytesOf(b.W[i]), bytesOf(all), b.ids, size)
		}
	}
	u.rule(&b.Part)
	for i, all := range u.W {
		if all != nil {
			PutRows(bytesOf(all), bytesOf(b.W[i]), b.ids, size)
		}
	}
}

// inPlace applies the rule to one row after the other.
func (b *rowsAtOnce[T]) inPlace(u *rowUpdate[T]) {
	w := u.width
	for _, all := range u.W {
		if all != nil {
			touchRows(all, b.ids, w, uint64(len(all)/w))
		}
	}
	for k, id := range b.ids {
		b.G = u.G[int(b.at[k])*w:][:w]
		for v, all := range u.W {
			if all != nil {
				b.W[v] = all[int(id)*w:][:w]
			}
		}
		u.rule(&b.Part)
	}
}
