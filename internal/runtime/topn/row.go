package topn

import (
	"cmp"
	"slices"
)

// Row puts the largest numbers of a row into best, the largest first, and their places into at, like TensorFlow's TopKV2 even if
// some are NaN. For a single one, Row takes the largest number, while TensorFlow's result with NaN depends on its vector width.
func Row[T cmp.Ordered](best []T, at []int32, row []T) {
	switch k := len(best); {
	case k == 0:
		return
	case k == 1:
		at[0] = int32(largest(row))
	case k < len(row):
		top := New(k, func(a, b int32) bool {
			switch {
			case row[b] < row[a]:
				return true
			case row[b] > row[a]:
				return false
			}
			return a < b
		})
		for i := range row {
			top.Push(int32(i))
		}
		copy(at, top.Extract())
	default:
		for i := range at {
			at[i] = int32(i)
		}
		Sort(at, func(a, b int32) bool { return row[b] < row[a] })
		for i := 0; i < len(at); { // equal values by place
			end := i + 1
			for end < len(at) && row[at[end]] == row[at[i]] {
				end++
			}
			slices.Sort(at[i:end])
			i = end
		}
	}
	for i, p := range at {
		best[i] = row[p]
	}
}

// largest returns the place of the largest number.
func largest[T cmp.Ordered](row []T) int {
	best := 0
	for i, v := range row {
		if v > row[best] || row[best] != row[best] && v == v {
			best = i
		}
	}
	return best
}
