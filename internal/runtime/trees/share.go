package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// drawn returns for each group of a space whether a tree may split by it, or nil for all groups. The draw depends only on the tree's
// number, so that it is the same in every part of a distributed training, and in a resumed one.
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

// part is the groups of examples that a tree may split by.
type part struct {
	tree   int64 // the tree that they are drawn for
	data   *Binned
	groups []int // indices among all groups
}

// choose makes a tree's part: only the slots of its groups, side by side, so that sums of other groups cost nothing.
func (p *part) choose(all *Binned, drawn []bool, tree int64) {
	if p.data != nil && p.tree == tree {
		return
	}
	space := &Space{Features: all.space.Features, Width: all.space.Width}
	b := &Binned{Rows: all.Rows, space: space}
	var slots []int // slots among all
	p.groups = p.groups[:0]
	for g, in := range drawn {
		if !in {
			continue
		}
		b.first = append(b.first, len(slots))
		for slot := all.first[g]; slot < all.first[g+1]; slot++ {
			slots, b.slots = append(slots, slot), append(b.slots, len(p.groups))
		}
		space.add(all.space.Groups[g])
		p.groups = append(p.groups, g)
	}
	b.first = append(b.first, len(slots))
	b.stride = (len(slots) + slotStep - 1) / slotStep * slotStep
	if p.data != nil {
		b.bins = p.data.bins
	}
	b.bins = grown(b.bins, b.Rows*b.stride+addSlots)
	kernels.Parallel(b.Rows, 1<<10, &partTask{from: all, to: b, slots: slots})
	p.data, p.tree = b, tree
}

type partTask struct {
	from, to *Binned
	slots    []int
}

func (t *partTask) Run(lo, hi int) {
	for r := lo; r < hi; r++ {
		from, to := t.from.bins[r*t.from.stride:], t.to.bins[r*t.to.stride:(r+1)*t.to.stride]
		for i, slot := range t.slots {
			to[i] = from[slot]
		}
		clear(to[len(t.slots):])
	}
}
