package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// places says which elements of an operand a gather reads, or a scatter writes: boxes, one for each position of the batch.
type places struct {
	rank    int
	extent  []int  // sizes of the boxes, in the operand's dimensions; -1: all of a dimension of open size
	axes    []int  // dimensions of the operand in which indices say where boxes begin
	index   *value // the indices [batch..., axes]
	batch   []int  // sizes of the batch
	gone    []int  // dimensions that are removed from the boxes
	kept    []int  // the others
	windows []int  // dimensions in which boxes have more than one element, but not all
	whole   []int  // dimensions that boxes cover entirely
	points  *value // the indices of the boxes' elements [batch..., windows..., len(dims)]
	dims    []int  // dimensions of these indices: all that are not whole
}

// indices moves the dimension that holds the index vectors to the end.
func (x *site) indices(v *value, at int) *value {
	v = x.index(v)
	if at == v.rank() {
		return x.insert(v, at)
	}
	return x.transpose(v, append(without(v.rank(), at), at)...)
}

// batched adds indices for the dimensions that operand and indices share: their positions.
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

// settle finds the dimensions that boxes cover entirely, and the points for the others in operand.
func (x *site) settle(p *places, operand *value) {
	begins := p.divide(operand.dims)
	p.points = x.boxPoints(p, x.corners(p, begins))
}

// divide finds the dimensions that boxes cover entirely, and returns those that they only cover from 0 on.
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

// corners returns where the boxes begin, in the dimensions that they do not cover entirely [batch..., dimensions]; nil if there are none.
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

// column selects one index of the last dimension, which keeps size 1.
func (x *site) column(v *value, i int) *value {
	last := v.rank() - 1
	begin, sizes := make([]int, last+1), slices.Repeat([]int{-1}, last+1)
	begin[last], sizes[last] = i, 1
	return x.slice(v, begin, sizes)
}

// boxPoints adds the offsets within the boxes to where they begin.
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

// gather reads boxes; boxes that would leave the operand are moved inside.
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

// box reads the only box of a gather without a batch.
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

// begin returns where the only box begins, in all dimensions of the operand.
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

// openExtent returns the size of boxes in a dimension, if it is only known at run time.
func (x *site) openExtent(d int) *value {
	if len(x.in) < 3 {
		refuse("boxes whose sizes are open")
	}
	return x.element(x.index(x.at(2)), d)
}

// cut crops the operand to the boxes in dimensions where all boxes begin at 0 and their size is only known at run time.
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

// extents returns the sizes of the boxes, which come from the result if the operation does not state them.
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

// room returns the largest indices at which boxes may begin, along the axes of indices.
func (x *site) room(p *places, v *value) *value {
	most := make([]int, len(p.axes))
	isOpen := false
	for i, a := range p.axes {
		switch {
		case v.dims[a] < 0 && p.extent[a] < 0: // the entire dimension
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

// Labels of dimensions while they are moved: for the batch by position, for boxes by the operand's dimension.
func batchLabel(i int) int { return -1 - i }
func boxLabel(d int) int   { return d }

// read selects the points of an operand, and returns them with the labels of their dimensions.
func (x *site) read(p *places, v *value) (y *value, have []int) {
	for i := range p.batch {
		have = append(have, batchLabel(i))
	}
	rest := without(p.rank, p.dims...)
	if len(p.dims) == 0 { // each box is the entire operand
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

// arrange reorders labeled dimensions. Missing ones get size 1; unwanted ones must have size 1, and are removed.
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

// indexSelect selects rows along a dimension.
func indexSelect(x *site) *value {
	batch := x.int("batch_dims")
	axis := x.int("dim")
	at := x.between(x.index(x.at(1)), x.each(ops.Sub, nil, x.size(x.at(0), axis), scalar(tensor.Int32, 1)))
	return x.node(ops.GatherV2, x.result(0).Dims, graph.Attrs{"batch_dims": int64(batch)}, x.at(0), at, scalar(tensor.Int32, float64(axis)))
}
