package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// drawn returns for each of the groups of a space whether a tree may split by it; nil: by all of them. They are drawn by the number of the
// tree alone, so that every part of a distributed training, and one that goes on, has the same ones.
func (c *Config) drawn(groups int, tree int64) []bool {
	if c.ColumnShare == 0 || c.ColumnShare == 1 {
		return nil
	}
	order := make([]int, groups)
	for g := range order {
		order[g] = g
	}
	key := func(g int) uint64 { return splitmix.Mix(29, uint64(tree), uint64(g)) }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	out := make([]bool, groups)
	for _, g := range order[:min(max(int(math.Round(c.ColumnShare*float64(groups))), 1), groups)] {
		out[g] = true
	}
	return out
}
