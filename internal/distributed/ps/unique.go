package ps

import (
	"math/bits"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// distinct is a list of ids without its repetitions.
type distinct struct {
	all    []int64
	unique []int64 // increasing
	order  []int32 // positions in all, in the order of the ids; nil: all is increasing
	ends   []int32 // where the positions of each unique id end in order; nil: none repeats
}

// newDistinct keeps ids, which must not change.
func newDistinct(ids []int64) *distinct {
	d := &distinct{all: ids, unique: ids}
	if increasing(ids) {
		return d
	}
	d.order = sortedOrder(ids)
	d.unique = make([]int64, 0, len(ids))
	last := int64(0)
	for i, at := range d.order {
		id := ids[at]
		switch {
		case i == 0 || id != last:
			d.unique = append(d.unique, id)
			if d.ends != nil {
				d.ends = append(d.ends, int32(i+1))
			}
			last = id
			continue
		case d.ends == nil:
			d.ends = make([]int32, i, len(ids))
			for k := range d.ends {
				d.ends[k] = int32(k + 1)
			}
		}
		d.ends[len(d.ends)-1] = int32(i + 1)
	}
	return d
}

// newSorted is a list of all ids in their order, in which equal ones stay apart.
func newSorted(ids []int64) *distinct {
	d := &distinct{all: ids, unique: ids}
	if slices.IsSorted(ids) {
		return d
	}
	d.order, d.unique = sortedOrder(ids), make([]int64, len(ids))
	for i, at := range d.order {
		d.unique[i] = ids[at]
	}
	return d
}

func increasing(ids []int64) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return false
		}
	}
	return true
}

// at returns the positions of unique id k; order must be there.
func (d *distinct) at(k int) []int32 {
	if d.ends == nil {
		return d.order[k : k+1]
	}
	first := int32(0)
	if k > 0 {
		first = d.ends[k-1]
	}
	return d.order[first:d.ends[k]]
}

// spread copies the rows of the unique ids from number k on to the places in dst
// where the list of ids has them.
func (d *distinct) spread(dst, rows []byte, k, size int) {
	if d.order == nil {
		copy(dst[k*size:], rows)
		return
	}
	for i := 0; i*size < len(rows); i++ {
		if i%touched == 0 {
			touch(dst, d.first(k+i, min(touched, len(rows)/size-i)), size)
		}
		for _, at := range d.at(k + i) {
			copy(dst[int(at)*size:(int(at)+1)*size], rows[i*size:])
		}
	}
}

// touched is how many rows are touched before they are copied.
const touched = 32

// first returns the places of about n rows from number k on.
func (d *distinct) first(k, n int) []int32 {
	from := k
	if d.ends != nil && k > 0 {
		from = int(d.ends[k-1])
	}
	return d.order[from:min(from+n, len(d.order))]
}

// touch reads an element of each row, so that their cache misses overlap, as they do
// not in copies. It is not inlined, as the compiler would drop the reads.
//
//go:noinline
func touch[T any](rows []T, places []int32, n int) (last T) {
	for _, at := range places {
		last = rows[int(at)*n]
	}
	return last
}

// sumRows writes the sums of src's rows of each of the unique ids from number
// lo to hi to dst, in the order in which the list has them.
func sumRows[T float32 | float64](d *distinct, dst, src []T, lo, hi, n int) {
	if d.order == nil {
		copy(dst, src[lo*n:hi*n])
		return
	}
	for k := lo; k < hi; k++ {
		if (k-lo)%touched == 0 && n > 0 {
			touch(src, d.first(k, min(touched, hi-k)), n)
		}
		to, places := dst[(k-lo)*n:(k-lo+1)*n], d.at(k)
		copy(to, src[int(places[0])*n:])
		for _, at := range places[1:] {
			for i, x := range src[int(at)*n : (int(at)+1)*n] {
				to[i] += x
			}
		}
	}
}

// radixBits is the largest digit of the radix sort; few ids are sorted by comparison.
const (
	radixBits  = 12
	radixLeast = 256
)

// sortedOrder returns the positions of ids in the ids' order; equal ones keep
// theirs.
func sortedOrder(ids []int64) []int32 {
	order := make([]int32, len(ids))
	least, most := slices.Min(ids), slices.Max(ids)
	width := bits.Len64(uint64(most - least))
	place := bits.Len(uint(len(ids)))
	if len(ids) < radixLeast || least < 0 || width+place > 64 {
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case ids[a] < ids[b]:
				return -1
			case ids[a] > ids[b]:
				return 1
			}
			return 0
		})
		return order
	}
	// Keys are an id above its position, so that a pass reads nothing else.
	memory := acquireScratch(16 * len(ids))
	defer releaseScratch(memory)
	all := tensor.Values[uint64](&tensor.Tensor{DType: tensor.Uint64, Shape: []int{2 * len(ids)}, Bytes: memory})
	keys, other := all[:len(ids)], all[len(ids):]
	for i, id := range ids {
		keys[i] = uint64(id-least)<<place | uint64(i)
	}
	passes := (width + radixBits - 1) / radixBits
	for p := range passes {
		// Digits of equal width, the last one the rest.
		digit := (width + passes - 1) / passes
		radixPass(other, keys, place+p*digit, digit)
		keys, other = other, keys
	}
	for i, k := range keys {
		order[i] = int32(k & (1<<place - 1))
	}
	return order
}

// radixPass sorts src by the digit at a bit into dst; equal ones keep their order.
func radixPass(dst, src []uint64, shift, digit int) {
	var count [1 << radixBits]int32
	mask := uint64(1)<<digit - 1
	for _, k := range src {
		count[k>>shift&mask&(1<<radixBits-1)]++
	}
	sum := int32(0)
	for i, n := range count[:mask+1] {
		count[i] = sum
		sum += n
	}
	for _, k := range src {
		c := &count[k>>shift&mask&(1<<radixBits-1)]
		dst[*c] = k
		*c++
	}
}
