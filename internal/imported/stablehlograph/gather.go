package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// places is which elements of an operand a gather reads, or a scatter writes: boxes, one for each place of the batch.
type places struct {
	rank    int
	extent  []int  // of the boxes, by the operand's dimensions; -1: all of a dimension whose size is open
	axes    []int  // dimensions of the operand in which boxes begin at indices
	index   *value // the indices [batch..., axes]
	batch   []int  // sizes of the batch
	gone    []int  // dimensions that the boxes do not have
	kept    []int  // the others
	windows []int  // axes in which boxes are longer than 1, and not of the whole dimension
	whole   []int  // dimensions that boxes have whole
	points  *value // the indices of the boxes' elements [batch..., windows..., points' axes]
	dims    []int  // of those: axes that are not whole
}

// indices moves the dimension of the indices that are one vector to the end.
func (x *site) indices(v *value, at int) *value {
	v = x.index(v)
	if at == v.rank() {
		return x.insert(v, at)
	}
	return x.transpose(v, append(without(v.rank(), at), at)...)
}

// batched adds indices of dimensions that operand and indices have in common: their places.
func (x *site) batched(p *places, of, in []int, vectorAt int) {
	if len(of) != len(in) {
		refuse("%d dimensions of a batch and %d of its indices", len(of), len(in))
	}
	parts := []*value{p.index}
	for i, d := range in {
		if d > vectorAt {
			d--
		}
		if d >= len(p.batch) {
			refuse("dimension %d of indices of rank %d", d, len(p.batch))
		}
		dims := append(slices.Clone(p.batch), 1)
		shape := x.shapeFrom(dims, x.restSizes(p.index, without(len(p.batch)))...)
		n := x.size(p.index, d)
		ones := slices.Repeat([]int{1}, len(dims)-d)
		count := x.count(tensor.Int32, n)
		ones[0] = count.dims[0]
		parts = append(parts, x.spread(x.reshape(count, ones...), dims, shape))
		p.axes = append(p.axes, of[i])
	}
	p.index = x.concat(len(p.batch), parts...)
}

// settle finds what of the boxes is whole, and the points of the others; operand is what they lie in.
func (x *site) settle(p *places, operand *value) {
	begins := p.divide(operand.dims)
	p.points = x.boxPoints(p, x.corners(p, begins))
}

// divide says which dimensions boxes have whole, and returns those where they begin at 0 and are not whole.
func (p *places) divide(sizes []int) (begins []int) {
	indexed := map[int]bool{}
	for _, a := range p.axes {
		if a < 0 || a >= p.rank || indexed[a] {
			refuse("dimensions %v of an operand of rank %d", p.axes, p.rank)
		}
		indexed[a] = true
	}
	for d := range p.rank {
		switch {
		case p.extent[d] == sizes[d] && (p.extent[d] != 1 || !indexed[d]):
			p.whole = append(p.whole, d)
		case !indexed[d]:
			begins = append(begins, d)
		}
	}
	for _, a := range p.axes {
		if !slices.Contains(p.whole, a) {
			p.dims = append(p.dims, a)
		}
	}
	p.dims = append(p.dims, begins...)
	for _, d := range p.dims {
		if p.extent[d] != 1 {
			p.windows = append(p.windows, d)
		}
	}
	return begins
}

// corners is where the boxes begin, in the dimensions that they do not have whole [batch..., dimensions]; nil: there are none.
func (x *site) corners(p *places, begins []int) *value {
	if len(p.dims) == 0 {
		return nil
	}
	if slices.Equal(p.dims, p.axes) {
		return p.index
	}
	n := len(p.batch)
	var columns []*value
	for i, a := range p.axes {
		if !slices.Contains(p.whole, a) {
			columns = append(columns, x.column(p.index, i))
		}
	}
	for range begins {
		dims := append(slices.Clone(p.batch), 1)
		columns = append(columns, x.spread(scalar(tensor.Int32, 0), dims, x.shapeFrom(dims, x.restSizes(p.index, without(n))...)))
	}
	return x.concat(n, columns...)
}

// column is a place of the last dimension, which stays with size 1.
func (x *site) column(v *value, i int) *value {
	last := v.rank() - 1
	begin, sizes := make([]int, last+1), slices.Repeat([]int{-1}, last+1)
	begin[last], sizes[last] = i, 1
	return x.slice(v, begin, sizes)
}

// boxPoints adds the places within the boxes to where they begin.
func (x *site) boxPoints(p *places, points *value) *value {
	if len(p.windows) == 0 || points == nil {
		return points
	}
	shape := make([]int, 0, len(p.windows)+1)
	total := len(p.dims)
	for _, d := range p.windows {
		if p.extent[d] < 0 {
			refuse("boxes whose sizes are open")
		}
		if total *= p.extent[d]; total > maxConstant {
			refuse("boxes of more than %d elements", maxConstant)
		}
		shape = append(shape, p.extent[d])
	}
	x.t.pay(4 * total)
	steps := tensor.New(tensor.Int32, append(shape, len(p.dims))...)
	all := tensor.Values[int32](steps)
	for i := range all {
		rest := i / len(p.dims)
		for k := len(p.windows) - 1; k >= 0; k-- {
			step := rest % shape[k]
			rest /= shape[k]
			if p.dims[i%len(p.dims)] == p.windows[k] {
				all[i] = int32(step)
			}
		}
	}
	n := len(p.batch)
	return x.each(ops.AddV2, nil, x.insert(points, offset(without(len(p.windows)), n)...), constant(steps))
}

// gather reads boxes, which are moved inside of the operand where they would leave it.
func gather(x *site) *value {
	v, to := x.at(0), x.result(0)
	vectorAt := x.int("index_vector_dim")
	index := x.indices(x.at(1), vectorAt)
	p := &places{rank: v.rank(), axes: slices.Clone(x.ints("start_index_map")), index: index, batch: index.dims[:index.rank()-1]}
	common := x.ints("operand_batching_dims")
	p.gone = slices.Concat(x.ints("collapsed_slice_dims"), common)
	p.kept = without(p.rank, p.gone...)
	offsets := x.ints("offset_dims")
	p.extent = x.extents(p, to.Dims, offsets)
	want := make([]int, len(to.Dims))
	for i, d := range offsets {
		want[d] = boxLabel(p.kept[i])
	}
	for i, d := range without(len(to.Dims), offsets...) {
		want[d] = batchLabel(i)
	}
	if len(p.batch) == 0 {
		return x.arrange(x.box(p, v), without(p.rank), want)
	}
	v = x.cut(p, v)
	p.index = x.between(index, x.room(p, v))
	x.batched(p, common, x.ints("start_indices_batching_dims"), vectorAt)
	x.settle(p, v)
	y, have := x.read(p, v)
	return x.arrange(y, have, want)
}

// box is the only one that a gather without a batch reads.
func (x *site) box(p *places, v *value) *value {
	var sizes []*value
	for d, n := range p.extent {
		size := scalar(tensor.Int32, float64(n))
		if n < 0 {
			size = x.openExtent(d)
		}
		sizes = append(sizes, size)
	}
	size := ints(p.extent...)
	if open(p.extent) {
		size = x.pack(sizes)
	}
	most := x.each(ops.Sub, nil, x.sizes(v), size)
	return x.node(ops.Slice, p.extent, nil, v, x.between(x.begin(p), most), size)
}

// begin is where the only box begins, in all dimensions of the operand.
func (x *site) begin(p *places) *value {
	parts := slices.Repeat([]*value{scalar(tensor.Int32, 0)}, p.rank)
	for i, a := range p.axes {
		parts[a] = x.element(p.index, i)
	}
	if len(parts) == 0 {
		return ints()
	}
	return x.pack(parts)
}

// openExtent is the size of boxes in a dimension where a run says it.
func (x *site) openExtent(d int) *value {
	if len(x.in) < 3 {
		refuse("boxes whose sizes are open")
	}
	return x.element(x.index(x.at(2)), d)
}

// cut leaves of the operand what boxes have of dimensions in which they all begin at 0, where that is not known before a run.
func (x *site) cut(p *places, v *value) *value {
	if !open(p.extent) {
		return v
	}
	sizes := make([]*value, p.rank)
	for d, n := range p.extent {
		if sizes[d] = scalar(tensor.Int32, -1); n >= 0 {
			continue
		}
		if sizes[d] = x.openExtent(d); slices.Contains(p.axes, d) {
			refuse("several boxes whose sizes are open along dimension %d, in which they begin at indices", d)
		}
	}
	return x.node(ops.Slice, v.dims, nil, v, ints(make([]int, p.rank)...), x.pack(sizes))
}

// extents are the sizes of the boxes: the result's where the operation does not say them.
func (x *site) extents(p *places, to, offsets []int) []int {
	if len(offsets) != len(p.kept) {
		refuse("%d dimensions of boxes: expected %d", len(offsets), len(p.kept))
	}
	extent := slices.Repeat([]int{1}, p.rank)
	for i, d := range p.kept {
		extent[d] = to[offsets[i]]
	}
	if said := x.ints("slice_sizes"); said != nil && len(said) == p.rank {
		copy(extent, said)
	}
	return extent
}

// room is where boxes may begin at most, along the axes of indices.
func (x *site) room(p *places, v *value) *value {
	most := make([]int, len(p.axes))
	isOpen := false
	for i, a := range p.axes {
		switch {
		case v.dims[a] < 0 && p.extent[a] < 0: // all of it
		case v.dims[a] < 0:
			isOpen = true
		default:
			most[i] = v.dims[a] - p.extent[a]
		}
	}
	if !isOpen {
		return ints(most...)
	}
	parts := make([]*value, len(p.axes))
	for i, a := range p.axes {
		if parts[i] = scalar(tensor.Int32, float64(most[i])); v.dims[a] < 0 && p.extent[a] >= 0 {
			parts[i] = x.each(ops.Sub, nil, x.size(v, a), scalar(tensor.Int32, float64(p.extent[a])))
		}
	}
	return x.pack(parts)
}

// Dimensions are named while they move: the batch's by their places, the boxes' by the operand's.
func batchLabel(i int) int { return -1 - i }
func boxLabel(d int) int   { return d }

// read takes the points of an operand, and returns them with the names of their dimensions.
func (x *site) read(p *places, v *value) (y *value, have []int) {
	for i := range p.batch {
		have = append(have, batchLabel(i))
	}
	rest := without(p.rank, p.dims...)
	if len(p.dims) == 0 { // boxes are the operand
		dims := slices.Concat(p.batch, v.dims)
		shape := x.shapeFrom(dims, slices.Concat(x.restSizes(p.index, without(len(p.batch))), x.openSizes(v))...)
		return x.spread(v, dims, shape), append(have, without(p.rank)...)
	}
	if len(p.dims) == 1 && len(p.windows) == 0 {
		a := p.dims[0]
		at := x.reshape(p.points, p.batch...)
		dims := slices.Concat(v.dims[:a], p.batch, v.dims[a+1:])
		have = slices.Concat(without(a), have, offset(without(p.rank-a-1), a+1))
		return x.node(ops.GatherV2, dims, graph.Attrs{"batch_dims": int64(0)}, v, at, scalar(tensor.Int32, float64(a))), have
	}
	dims := slices.Concat(p.batch, at(p.extent, p.windows), at(v.dims, rest))
	y = x.node(ops.GatherNd, dims, nil, x.transpose(v, slices.Concat(p.dims, rest)...), p.points)
	return y, slices.Concat(have, p.windows, rest)
}

// arrange brings named dimensions to an order. Those that there are not are of size 1; those that nobody wants have that size.
func (x *site) arrange(v *value, have, want []int) *value {
	var perm, missing []int
	for i, l := range want {
		if k := slices.Index(have, l); k >= 0 {
			perm = append(perm, k)
		} else {
			missing = append(missing, i)
		}
	}
	if len(perm) != len(have) {
		dims := []int{}
		var kept []int
		for i, l := range have {
			if slices.Contains(want, l) {
				dims, kept = append(dims, v.dims[i]), append(kept, l)
			} else if v.dims[i] != 1 {
				refuse("a dimension of size %d is left out", v.dims[i])
			}
		}
		return x.arrange(x.node(ops.Reshape, dims, nil, v, x.shapeFrom(dims, x.openSizes(v)...)), kept, want)
	}
	return x.insert(x.transpose(v, perm...), missing...)
}

// indexSelect takes rows along a dimension.
func indexSelect(x *site) *value {
	batch := x.int("batch_dims")
	axis := x.int("dim")
	at := x.between(x.index(x.at(1)), x.each(ops.Sub, nil, x.size(x.at(0), axis), scalar(tensor.Int32, 1)))
	return x.node(ops.GatherV2, x.result(0).Dims, graph.Attrs{"batch_dims": int64(batch)}, x.at(0), at, scalar(tensor.Int32, float64(axis)))
}
