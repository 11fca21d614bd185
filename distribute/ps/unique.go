package ps

import "slices"

// Unique returns the different ids in increasing order, and for each id its
// index among them; nil where they are increasing already.
func Unique(ids []int64) (unique []int64, index []int32) {
	if increasing(ids) {
		return ids, nil
	}
	order := sortedOrder(ids)
	index = make([]int32, len(ids))
	unique = make([]int64, 0, len(ids))
	for _, at := range order {
		if id := ids[at]; len(unique) == 0 || unique[len(unique)-1] != id {
			unique = append(unique, id)
		}
		index[at] = int32(len(unique) - 1)
	}
	return unique, index
}

func increasing(ids []int64) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return false
		}
	}
	return true
}

// radixBits is the digit of the radix sort; few ids are sorted by comparison.
const (
	radixBits  = 11
	radixLeast = 256
)

// sortedOrder returns the positions of ids in the ids' order; equal ones keep
// theirs.
func sortedOrder(ids []int64) []int32 {
	order := make([]int32, len(ids))
	for i := range order {
		order[i] = int32(i)
	}
	if len(ids) < radixLeast || slices.Min(ids) < 0 {
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
	other := make([]int32, len(ids))
	var count [1<<radixBits + 1]int32
	most := slices.Max(ids)
	for shift := 0; most>>shift > 0; shift += radixBits {
		clear(count[:])
		for _, id := range ids {
			count[id>>shift&(1<<radixBits-1)+1]++
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		for _, at := range order {
			digit := ids[at] >> shift & (1<<radixBits - 1)
			other[count[digit]] = at
			count[digit]++
		}
		order, other = other, order
	}
	return order
}
