package trees

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// place is where the rows of a chunk go: the ones that go left to left and on, the others to right and on in direction step.
type place struct{ left, right, step int }

// counter counts the rows that go left, in each chunk of nodes with several chunks.
type counter Trainer

func (t *counter) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		c := t.work[i]
		split := &t.splits[c.node]
		if split.Group >= 0 && (span{c.from, c.to}) != t.spans[c.node] {
			t.places[i].left = t.data.count(t.rows[c.from:c.to], split)
		}
	}
}

// arrange finds where the rows of each chunk go. In a node with a single chunk, rows go left from the node's first place on
// and right from its last place backwards. Otherwise each chunk has its part of the node's left and right sides.
func (t *Trainer) arrange() {
	t.work = cut(t.work[:0], t.spans, packedRows)
	t.places = grown(t.places, len(t.work))
	t.next = grown(t.next, 2*len(t.spans))
	if len(t.work) > len(t.spans) {
		kernels.Parallel(len(t.work), 1, (*counter)(t))
	}
	for i := 0; i < len(t.work); {
		node := t.work[i].node
		s, first := t.spans[node], i
		left := s.from
		for ; i < len(t.work) && t.work[i].node == node; i++ {
			left, t.places[i].left = left+t.places[i].left, left
		}
		if i == first+1 {
			t.places[first] = place{left: s.from, right: s.to - 1, step: -1}
			continue
		}
		right := left
		for j := first; j < i; j++ {
			t.places[j].right, t.places[j].step = right, 1
			after := left
			if j+1 < i {
				after = t.places[j+1].left
			}
			right += t.work[j].to - t.work[j].from - (after - t.places[j].left)
		}
		t.next[2*node], t.next[2*node+1] = span{s.from, left}, span{left, s.to}
	}
}

// mover moves the rows of each chunk to their new node and computes their gradients there.
type mover Trainer

func (t *mover) Run(lo, hi int) {
	buffer := (*Trainer)(t).buffer()
	defer t.free.Put(buffer)
	for i := lo; i < hi; i++ {
		c, p := t.work[i], t.places[i]
		split := &t.splits[c.node]
		if split.Group < 0 {
			t.addToBase(t.rows[c.from:c.to], t.first+c.node)
			continue
		}
		after := t.data.divide(t.rows[c.from:c.to], t.spare, split, p)
		right := span{p.right, p.right + c.to - c.from - (after - p.left)}
		if p.step < 0 {
			right = span{after, c.to}
			t.next[2*c.node], t.next[2*c.node+1] = span{p.left, after}, right
		}
		(*Trainer)(t).arrive(span{p.left, after}, split.Left, i, *buffer)
		(*Trainer)(t).arrive(right, split.Left+1, i, *buffer)
	}
}

// addToBase adds a leaf's values to the base of its rows, unless pruning may still undo the leaf.
func (t *mover) addToBase(rows []int32, leaf int) {
	if t.nodes == nil {
		t.base.add(rows, (*Trainer)(t).values(leaf))
	}
}

// arrive computes the gradients of the spare rows that came to a node, and measures them as the given part.
func (t *Trainer) arrive(at span, node, part int, logits []float32) {
	dim := t.width()
	rows := t.spare[at.from:at.to]
	if t.nodes != nil {
		for _, r := range rows {
			t.nodes[r] = int32(node)
		}
	}
	t.base.plus(rows, t.values(node), logits)
	t.loss.Gradients(rows, logits[:len(rows)*dim], t.grads.v[at.from*dim*2:at.to*dim*2])
	t.grads.measure(part, at.from, at.to)
}

// finisher adds the values of the rows' leaves to the base of each chunk's rows.
type finisher Trainer

func (t *finisher) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		c := t.work[i]
		rows, split := t.rows[c.from:c.to], &t.splits[c.node]
		switch leaf := t.first + c.node; {
		case split.Group < 0:
			(*mover)(t).addToBase(rows, leaf)
		case t.nodes != nil:
			for _, r := range rows {
				t.nodes[r] = int32(split.Left + t.data.right(r, split.Group, split.Bin))
			}
		default:
			t.data.addSides(rows, split, t.base, slices.Concat((*Trainer)(t).values(split.Left), (*Trainer)(t).values(split.Left+1)))
		}
	}
}

// outputs are the outputs of examples, [rows, dim].
type outputs []float32

// add adds v to the outputs of rows.
func (o outputs) add(rows []int32, v []float32) {
	if len(v) == 1 {
		for _, r := range rows {
			o[r] += v[0]
		}
		return
	}
	for _, r := range rows {
		to := o[int(r)*len(v) : (int(r)+1)*len(v)]
		for k, x := range v {
			to[k] += x
		}
	}
}

// plus sets sums to the outputs of rows plus v.
func (o outputs) plus(rows []int32, v, sums []float32) {
	if len(v) == 1 {
		for i, r := range rows {
			sums[i] = o[r] + v[0]
		}
		return
	}
	for i, r := range rows {
		from := o[int(r)*len(v) : (int(r)+1)*len(v)]
		for k, x := range v {
			sums[i*len(v)+k] = from[k] + x
		}
	}
}

// addSides adds the first half of v to the outputs of rows that go left, the second half to the outputs of the other rows.
func (b *Binned) addSides(rows []int32, s *Split, o outputs, v []float32) {
	slot, stride, dim := b.bins[b.first[s.Group]:], b.stride, len(v)/2
	if dim == 1 && b.space.Groups[s.Group].Ordered {
		sides := [2]float32{v[0], v[1]}
		for _, r := range rows {
			o[r] += sides[notBelow(slot[int(r)*stride], s.Bin)&1]
		}
		return
	}
	for _, r := range rows {
		side := v[b.right(r, s.Group, s.Bin)*dim:][:dim]
		for k, x := range side {
			o[int(r)*dim+k] += x
		}
	}
}
