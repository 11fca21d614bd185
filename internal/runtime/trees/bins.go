package trees

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Binned is a set of examples whose features are bins: row-major bytes, one for each slot. A group has one slot; a group of
// ids has as many slots as the most ids that one example has.
type Binned struct {
	Rows   int
	space  *Space
	slots  []int // group of each slot
	first  []int // first slot of each group, and their number at the end
	stride int   // bytes a row: the slots, rounded up to a multiple of slotStep
	bins   []uint8
}

// slotStep is the smallest number of slots that are summed at once.
const slotStep = 2

// Bin sorts the numbers of examples, rows of s.Width each, into bins.
func (s *Space) Bin(x []float32, rows int) (*Binned, error) {
	if len(x) != rows*s.Width {
		return nil, fmt.Errorf("%d numbers of %d examples, expected %d each", len(x), rows, s.Width)
	}
	b := &Binned{Rows: rows, space: s}
	for g, group := range s.Groups {
		b.first = append(b.first, len(b.slots))
		for range s.most(group, x) {
			b.slots = append(b.slots, g)
		}
	}
	b.first = append(b.first, len(b.slots))
	b.stride = (len(b.slots) + slotStep - 1) / slotStep * slotStep
	b.bins = make([]uint8, rows*b.stride+addSlots) // whole words are read
	kernels.Parallel(rows, 1<<10, &binTask{b: b, x: x})
	return b, nil
}

// most is the number of slots that a group needs: the most of its ids that one example has, at least one.
func (s *Space) most(g Group, x []float32) int {
	most := 1
	if g.Ordered {
		return most
	}
	for at := 0; at < len(x); at += s.Width {
		most = max(most, g.ids(x[at:at+s.Width], nil))
	}
	return most
}

// ids counts the ids that an example has, and puts their bins into into, as far as there is room.
func (g *Group) ids(x []float32, into []uint8) (n int) {
	add := func(bin int) {
		if n < len(into) {
			into[n] = uint8(bin)
		}
		n++
	}
	if g.flags != nil {
		for i, f := range g.flags {
			if x[f.column] >= f.threshold {
				add(i + 1)
			}
		}
		return n
	}
	for id, v := range x[g.Base : g.Base+g.Bins-1] {
		if v >= present {
			add(id + 1)
		}
	}
	return n
}

type binTask struct {
	b *Binned
	x []float32
}

func (t *binTask) Run(lo, hi int) {
	b, s := t.b, t.b.space
	for g, group := range s.Groups {
		slot := b.first[g]
		if group.Ordered {
			boundaries := s.Features[group.Feature].Boundaries
			for r := lo; r < hi; r++ {
				b.bins[r*b.stride+slot] = bucket(boundaries, t.x[r*s.Width+group.Base])
			}
			continue
		}
		for r := lo; r < hi; r++ {
			group.ids(t.x[r*s.Width:(r+1)*s.Width], b.bins[r*b.stride+slot:r*b.stride+b.first[g+1]])
		}
	}
}

// bucket returns how many boundaries v reaches; NaN reaches none.
func bucket(boundaries []float32, v float32) uint8 {
	lo, hi := 0, len(boundaries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if v >= boundaries[mid] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint8(lo)
}

// right returns 1 if a row goes right at the split of a group at a bin, else 0.
func (b *Binned) right(row int32, group, bin int) int {
	bins := b.bins[int(row)*b.stride+b.first[group] : int(row)*b.stride+b.first[group+1]]
	if b.space.Groups[group].Ordered {
		return notBelow(bins[0], bin)
	}
	has := 0
	for _, v := range bins {
		has |= same(v, bin)
	}
	return has
}

// notBelow and same are 1 or 0 without a branch, which would be mispredicted every other time.
func notBelow(v uint8, bin int) int { return 1 - int(uint(int(v)-bin)>>63) }

func same(v uint8, bin int) int { return 1 - int(uint(-(int(v)^bin))>>63) }

// count returns how many rows go left.
func (b *Binned) count(rows []int32, s *Split) int {
	n := len(rows)
	slot, stride := b.bins[b.first[s.Group]:], b.stride
	switch {
	case b.space.Groups[s.Group].Ordered:
		for _, r := range rows {
			n -= notBelow(slot[int(r)*stride], s.Bin)
		}
	case b.first[s.Group+1]-b.first[s.Group] == 1:
		for _, r := range rows {
			n -= same(slot[int(r)*stride], s.Bin)
		}
	default:
		for _, r := range rows {
			n -= b.right(r, s.Group, s.Bin)
		}
	}
	return n
}

// divide copies the rows that go left to into, from p.left on, and the others from p.right on, or backwards from there if
// p.step is -1. It returns the place after the last row that went left.
func (b *Binned) divide(rows, into []int32, s *Split, p place) int {
	slot, stride := b.bins[b.first[s.Group]:], b.stride
	left, right, step := p.left, p.right, p.step
	switch {
	case b.space.Groups[s.Group].Ordered:
		for _, r := range rows {
			side := notBelow(slot[int(r)*stride], s.Bin)
			into[left+(right-left)&-side] = r
			left += 1 - side
			right += side * step
		}
	case b.first[s.Group+1]-b.first[s.Group] == 1:
		for _, r := range rows {
			side := same(slot[int(r)*stride], s.Bin)
			into[left+(right-left)&-side] = r
			left += 1 - side
			right += side * step
		}
	default:
		for _, r := range rows {
			side := b.right(r, s.Group, s.Bin)
			into[left+(right-left)&-side] = r
			left += 1 - side
			right += side * step
		}
	}
	return left
}
