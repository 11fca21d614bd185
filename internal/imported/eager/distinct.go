package eager

import (
	"math/bits"
	"math/rand/v2"
)

// distinctInts is distinctOf for integers, by a hash table with open addressing. Its multiplier is random, so that nobody
// can send values that all collide.
func distinctInts[K int32 | int64](keys []K) (ids, firsts []int) {
	size := bits.Len(uint(2*len(keys))) + 1
	table, mask, factor := make([]int32, 1<<size), 1<<size-1, rand.Uint64()|1
	ids = make([]int, len(keys))
	for i, k := range keys {
		at := int(uint64(k) * factor >> (64 - size))
		for {
			id := int(table[at]) - 1
			if id < 0 {
				id = len(firsts)
				firsts = append(firsts, i)
				table[at] = int32(id + 1)
			} else if keys[firsts[id]] != k {
				at = (at + 1) & mask
				continue
			}
			ids[i] = id
			break
		}
	}
	return ids, firsts
}
