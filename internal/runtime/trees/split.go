package trees

import "math"

// Sums are the sums from which a layer is grown: for each node of the layer and output, the sums of gradients and hessians
// of every bin, followed by the sums of the whole node. They are plain numbers, so that sums of several parts of a batch can
// be added.
type Sums struct {
	Nodes, Dim, Bins int
	// V is [Nodes, Dim, Bins+1, 2].
	V []float64
}

// resize makes room for the sums of nodes.
func (s *Sums) resize(nodes, dim, bins int) {
	s.Nodes, s.Dim, s.Bins = nodes, dim, bins
	s.V = grown(s.V, nodes*dim*(bins+1)*2)
}

// output returns the sums of output k of node n.
func (s *Sums) output(n, k int) []float64 {
	size := (s.Bins + 1) * 2
	return s.V[(n*s.Dim+k)*size : (n*s.Dim+k+1)*size]
}

// node returns the sums of a group's bins for output k of node n, and the sums of the node.
func (s *Sums) node(n, k int, group *Group) (bins []float64, g, h float64) {
	v := s.output(n, k)
	return v[group.Offset*2 : (group.Offset+group.Bins)*2], v[len(v)-2], v[len(v)-1]
}

// all returns the sums of output k of node n.
func (s *Sums) all(n, k int) (g, h float64) {
	v := s.output(n, k)
	return v[len(v)-2], v[len(v)-1]
}

// regularization are the penalties on a tree, scaled to sums over the layer's examples (see Config).
type regularization struct{ l1, l2, minWeight float64 }

// step returns the Newton step of a leaf, the w that minimises g*w + (h+l2)/2*w*w + l1*|w|.
func (r regularization) step(g, h float64) float64 {
	if h+r.l2 <= 0 {
		return 0
	}
	return -shrink(g, r.l1) / (h + r.l2)
}

// gain returns twice the amount by which the step reduces that term.
func (r regularization) gain(g, h float64) float64 {
	if h+r.l2 <= 0 {
		return 0
	}
	t := shrink(g, r.l1)
	return t * t / (h + r.l2)
}

// shrink moves g towards 0 by l1.
func shrink(g, l1 float64) float64 {
	if l1 == 0 {
		return g
	}
	return math.Copysign(max(math.Abs(g)-l1, 0), g)
}

// Split is the best split of a node. Group is -1 if there is none.
type Split struct {
	Group, Bin int       // examples below the bin, or without its id, go left
	Gain       float64   // the split's gain, before Complexity
	Steps      []float64 // [dim, 2]: steps of the left and the right leaf
	Left       int       // once made: the left child; the right child is the next node
}

// smallest is the least gain of a split, as a share of the gain of its sides: less is rounding.
const smallest = 1e-10

// best sets split to the best split of node n by one of the drawn groups (nil: all). Of equal splits, it takes the first group
// and bin.
func (s *Sums) best(n int, space *Space, r regularization, drawn []bool, split *Split) {
	parent, weight := 0.0, 0.0
	for k := range s.Dim {
		g, h := s.all(n, k)
		parent += r.gain(g, h)
		weight += h
	}
	search := search{regularization: r, least: max(r.minWeight, weight*1e-9), found: parent * (1 + smallest)}
	split.Group = -1
	for g := range space.Groups {
		if drawn != nil && !drawn[g] {
			continue
		}
		var bin int
		if s.Dim == 1 {
			bin = search.one(s, n, &space.Groups[g])
		} else {
			bin = search.several(s, n, &space.Groups[g])
		}
		if bin > 0 {
			split.Group, split.Bin, split.Gain = g, bin, search.found-parent
		}
	}
	if split.Group < 0 {
		return
	}
	split.Steps = grown(split.Steps, s.Dim*2)
	for k := range s.Dim {
		lg, lh, rg, rh := s.sides(n, k, space, split)
		split.Steps[2*k], split.Steps[2*k+1] = r.step(lg, lh), r.step(rg, rh)
	}
}

// search is the state of the search for a node's best split.
type search struct {
	regularization
	least float64 // least hessian of a side: less is a rounding error
	found float64 // gain of the best split's sides so far
	side  []float64
}

// one returns the last bin of a group at which a split was better than all before, for a single output; 0 for none.
func (s *search) one(sums *Sums, n int, group *Group) int {
	bins, g, h := sums.node(n, 0, group)
	best, found := 0, s.found
	var lg, lh float64
	for b := 1; b < group.Bins; b++ {
		if group.Ordered {
			pg, ph := bins[2*b-2], bins[2*b-1]
			if pg == 0 && ph == 0 {
				continue // the same sides as at the previous bin
			}
			lg, lh = lg+pg, lh+ph
		} else {
			lg, lh = bins[2*b], bins[2*b+1]
		}
		rg, rh := g-lg, h-lh
		if lh < s.least || rh < s.least {
			continue
		}
		lt, rt := shrink(lg, s.l1), shrink(rg, s.l1)
		lw, rw := lh+s.l2, rh+s.l2
		// lt*lt/lw + rt*rt/rw, divided only if it is better.
		if sum, all := lt*lt*rw+rt*rt*lw, lw*rw; sum > found*all && all > 0 {
			best, found = b, sum/all
		}
	}
	s.found = found
	return best
}

// several is one for several outputs: gains and hessians are summed over them.
func (s *search) several(sums *Sums, n int, group *Group) int {
	s.side = grown(s.side, sums.Dim*2)
	clear(s.side)
	best := 0
	for b := 1; b < group.Bins; b++ {
		var gain, lw, rw float64
		for k := range sums.Dim {
			bins, g, h := sums.node(n, k, group)
			l := s.side[2*k : 2*k+2]
			if group.Ordered {
				l[0], l[1] = l[0]+bins[2*b-2], l[1]+bins[2*b-1]
			} else {
				l[0], l[1] = bins[2*b], bins[2*b+1]
			}
			gain += s.gain(l[0], l[1]) + s.gain(g-l[0], h-l[1])
			lw, rw = lw+l[1], rw+h-l[1]
		}
		if lw >= s.least && rw >= s.least && gain > s.found {
			best, s.found = b, gain
		}
	}
	return best
}

// sides returns the sums of output k over the node's examples that go left and right at a split.
func (s *Sums) sides(n, k int, space *Space, split *Split) (lg, lh, rg, rh float64) {
	group := &space.Groups[split.Group]
	bins, g, h := s.node(n, k, group)
	if !group.Ordered {
		rg, rh = bins[2*split.Bin], bins[2*split.Bin+1]
		return g - rg, h - rh, rg, rh
	}
	for b := range split.Bin {
		lg, lh = lg+bins[2*b], lh+bins[2*b+1]
	}
	return lg, lh, g - lg, h - lh
}
