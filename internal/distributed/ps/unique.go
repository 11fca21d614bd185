package ps

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// distinct is a list of ids without repetitions.
type distinct struct {
	all    []int64
	unique []int64 // increasing
	order  []int32 // positions in all, sorted by id; nil: all is increasing
	ends   []int32 // ends of the positions of each unique id in order; nil: no repetitions
}

// newDistinct keeps ids, which must not change.
func newDistinct(ids []int64) *distinct {
	d := &distinct{all: ids, unique: ids}
	if increasing(ids) {
		return d
	}
	d.sort()
	for i := 1; i < len(d.unique); i++ {
		if d.unique[i] == d.unique[i-1] {
			d.compact(i)
			break
		}
	}
	return d
}

// compact drops repetitions from the sorted ids; the first repetition is at i.
func (d *distinct) compact(i int) {
	d.ends = make([]int32, i, len(d.all))
	for k := range d.ends {
		d.ends[k] = int32(k + 1)
	}
	sorted := d.unique
	d.unique = sorted[:i]
	for last := sorted[i-1]; i < len(sorted); i++ {
		if id := sorted[i]; id != last {
			d.unique, d.ends, last = append(d.unique, id), append(d.ends, 0), id
		}
		d.ends[len(d.ends)-1] = int32(i + 1)
	}
}

// newSorted is a sorted list of all ids, in which equal ones stay separate.
func newSorted(ids []int64) *distinct {
	d := &distinct{all: ids, unique: ids}
	if slices.IsSorted(ids) {
		return d
	}
	d.sort()
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

// at returns the positions of unique id k; order must be set.
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

// spread copies the rows of the unique ids from number k on to the positions in dst
// that the ids have in the list.
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

// first returns the positions of about n rows from number k on.
func (d *distinct) first(k, n int) []int32 {
	from := k
	if d.ends != nil && k > 0 {
		from = int(d.ends[k-1])
	}
	return d.order[from:min(from+n, len(d.order))]
}

// touch reads an element of each row, so that their cache misses overlap, unlike in
// copies. It is not inlined, since the compiler would drop the reads.
//
//go:noinline
func touch[T any](rows []T, places []int32, n int) (last T) {
	for _, at := range places {
		last = rows[int(at)*n]
	}
	return last
}

// sumRows writes to dst the sums of src's rows for each of the unique ids from number
// lo to hi, in the order of the list.
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

// radixBits is the largest digit of the radix sort; a few ids are sorted by
// comparison.
const (
	radixBits  = 12
	radixLeast = 256
)

// sort writes the ids, sorted and with repetitions, into unique and their positions
// into order; equal ids keep their order.
func (d *distinct) sort() {
	d.order, d.unique = make([]int32, len(d.all)), make([]int64, len(d.all))
	least, most := bounds(d.all)
	width, place := bits.Len64(uint64(most-least)), bits.Len(uint(len(d.all)))
	if len(d.all) < radixLeast || least < 0 || width+place > 64 {
		d.sortFew()
		return
	}
	// A key is an id followed by its position in the lower bits, so that a pass reads
	// nothing else.
	memory := acquireScratch(16 * len(d.all))
	defer releaseScratch(memory)
	both := tensor.Values[uint64](&tensor.Tensor{DType: tensor.Uint64, Shape: []int{2 * len(d.all)}, Bytes: memory})
	keys, other := both[:len(d.all)], both[len(d.all):]
	for i, id := range d.all {
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
		d.order[i], d.unique[i] = int32(k&(1<<place-1)), int64(k>>place)+least
	}
}

// sortFew is sort by comparison.
func (d *distinct) sortFew() {
	for i := range d.order {
		d.order[i] = int32(i)
	}
	slices.SortStableFunc(d.order, func(a, b int32) int { return cmp.Compare(d.all[a], d.all[b]) })
	for i, at := range d.order {
		d.unique[i] = d.all[at]
	}
}

// bounds are the least and the largest of the ids.
func bounds(ids []int64) (least, most int64) {
	least, most = ids[0], ids[0]
	for _, id := range ids[1:] {
		least, most = min(least, id), max(most, id)
	}
	return least, most
}

// radixPass sorts src into dst by the digit at a bit; equal digits keep their order.
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
