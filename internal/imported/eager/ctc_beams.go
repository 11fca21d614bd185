package eager

import (
	"github.com/goestimator/goestimator/internal/runtime/topn"
	"math"
	"slices"
)

// chances has the log probabilities of a prefix: ending in blank, ending in its label, and their sum.
type chances[T float] struct{ total, blank, label T }

func none[T float]() T { return T(math.Inf(-1)) }

// impossible returns the chances of a prefix outside the beam.
func impossible[T float]() chances[T] { return chances[T]{none[T](), none[T](), none[T]()} }

// prefix is a sequence of labels in the tree of all prefixes that were in a beam.
type prefix[T float] struct {
	parent   *prefix[T]
	label    int
	longer   map[int]*prefix[T]
	was, now chances[T]
}

func (p *prefix[T]) active() bool { return p.now.total != none[T]() }

// labels returns the sequence, with repetitions merged if merge is set.
func (p *prefix[T]) labels(merge bool) (all []int) {
	last := -1
	for ; p.parent != nil; p = p.parent {
		if !merge || p.label != last {
			all = append(all, p.label)
		}
		last = p.label
	}
	slices.Reverse(all)
	return all
}

// beams searches for the most probable sequences of labels.
type beams[T float] struct {
	c            call
	width, blank int
	leaves       *topn.Top[*prefix[T]]
	evicted      []*prefix[T] // prefixes that left the beam in this frame
	size, paid   int          // number of prefixes: in the tree, and paid for
}

// prefixBytes is roughly the memory of a prefix, with its entries in its parent's map and in the beam.
const prefixBytes = 320

// begin drops all prefixes except the empty one. What was paid is kept for the next ones.
func (d *beams[T]) begin() {
	d.leaves, d.evicted, d.size = topn.New(d.width, better[T]), nil, 0
	d.leaves.Push(&prefix[T]{label: -1, now: chances[T]{0, 0, none[T]()}, was: impossible[T]()})
}

// child returns a new prefix, extended by a label. Memory is paid for as the tree grows.
func (d *beams[T]) child(p *prefix[T], label int) (*prefix[T], error) {
	if d.size++; d.size > d.paid {
		more := max(d.paid, 64)
		if err := d.c.room(more, prefixBytes); err != nil {
			return nil, err
		}
		d.paid += more
	}
	if p.longer == nil {
		p.longer = map[int]*prefix[T]{}
	}
	child := &prefix[T]{parent: p, label: label, was: impossible[T]()}
	p.longer[label] = child
	return child, nil
}

// evict removes the worst prefix from the beam.
func (d *beams[T]) evict() {
	p := d.leaves.Bottom()
	if p.active() { // else an equally bad one may leave instead
		d.evicted = append(d.evicted, p)
	}
	p.now = impossible[T]()
}

// prune drops the prefixes that left the beam and that are not the beginning of any other.
func (d *beams[T]) prune() {
	for _, p := range d.evicted {
		for p.parent != nil && !p.active() && len(p.longer) == 0 && p.parent.longer[p.label] == p {
			delete(p.parent.longer, p.label)
			d.size--
			p = p.parent
		}
	}
	d.evicted = d.evicted[:0]
}

func better[T float](a, b *prefix[T]) bool { return a.now.total > b.now.total }

// sumOfLogs returns log(exp(a)+exp(b)).
func sumOfLogs[T float](a, b T) T {
	if a < b {
		a, b = b, a
	}
	if b == none[T]() {
		return a
	}
	return a + T(math.Log1p(math.Exp(float64(b-a))))
}

// step processes one frame.
func (d *beams[T]) step(row []T) error {
	most, sum := slices.Max(row), 0.0
	for _, v := range row {
		sum += math.Exp(float64(v - most))
	}
	norm := most + T(math.Log(sum))
	old := d.leaves.Extract()
	for _, p := range old {
		p.was = p.now
	}
	for _, p := range old {
		if p.parent != nil {
			if p.parent.active() {
				before := p.parent.was.total
				if p.label == p.parent.label {
					before = p.parent.was.blank
				}
				p.now.label = sumOfLogs(p.now.label, before)
			}
			p.now.label += row[p.label] - norm
		}
		p.now.blank = p.was.total + row[d.blank] - norm
		p.now.total = sumOfLogs(p.now.blank, p.now.label)
		d.leaves.Push(p)
	}
	for _, p := range old {
		if err := d.c.ctx.Err(); err != nil {
			return err
		}
		if !d.fits(p.was.total) {
			continue
		}
		if err := d.grow(p, row, norm); err != nil {
			return err
		}
	}
	d.prune()
	return nil
}

// fits reports whether a prefix with that probability has a place in the beam.
func (d *beams[T]) fits(total T) bool {
	return total > none[T]() && (!d.leaves.Full() || total > d.leaves.Bottom().now.total)
}

// grow adds the sequences that are one label longer.
func (d *beams[T]) grow(p *prefix[T], row []T, norm T) error {
	for label, v := range row {
		child := p.longer[label]
		if label == d.blank || child != nil && child.active() {
			continue
		}
		before := p.was.total
		if label == p.label {
			before = p.was.blank
		}
		total := v - norm + before
		if !d.fits(total) {
			if child != nil { // in TensorFlow it cannot grow in this frame, even if it was in the beam
				child.was = impossible[T]()
			}
			continue
		}
		if child == nil {
			var err error
			if child, err = d.child(p, label); err != nil {
				return err
			}
		}
		child.now = chances[T]{total, none[T](), total}
		if d.leaves.Full() {
			d.evict()
		}
		d.leaves.Push(child)
	}
	return nil
}

// best returns the n most probable sequences, or all if there are fewer.
func (d *beams[T]) best(n int) []*prefix[T] {
	sorted := d.leaves.Extract()
	for _, p := range sorted {
		d.leaves.Push(p)
	}
	top := topn.New(n, better[T])
	for _, p := range d.leaves.Unsorted() {
		top.Push(p)
	}
	return top.Extract()
}
