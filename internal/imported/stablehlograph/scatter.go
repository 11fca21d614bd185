package stablehlograph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// scatters has the ops of scatters by the region's operation.
var scatters = map[string]*ops.Def{"return": ops.TensorScatterUpdate, "add": ops.TensorScatterAdd, "maximum": ops.TensorScatterMax, "minimum": ops.TensorScatterMin}

// scatter writes boxes of updates into an operand. It skips boxes that would leave the operand.
func scatter(x *site) []*value {
	if len(x.in) != 3 {
		refuse("%d operands: expected one, its indices and its updates", len(x.in))
	}
	v, updates := x.at(0), x.at(2)
	kind := only(x.region(0))
	vectorAt := x.int("index_vector_dim")
	index := x.indices(x.at(1), vectorAt)
	p := &places{rank: v.rank(), axes: slices.Clone(x.ints("scatter_dims_to_operand_dims")), index: index, batch: index.dims[:index.rank()-1]}
	common := x.ints("input_batching_dims")
	p.gone = slices.Concat(x.ints("inserted_window_dims"), common)
	p.kept = without(p.rank, p.gone...)
	windows := x.ints("update_window_dims")
	if len(windows) != len(p.kept) {
		refuse("%d dimensions of boxes: expected %d", len(windows), len(p.kept))
	}
	p.extent = slices.Repeat([]int{1}, p.rank)
	for i, d := range p.kept {
		p.extent[d] = updates.dims[windows[i]]
	}
	labels := make([]int, updates.rank())
	for i, d := range windows {
		labels[d] = boxLabel(p.kept[i])
	}
	if len(p.batch) == 0 {
		return []*value{x.boxWritten(p, v, x.arrange(updates, labels, without(p.rank)))}
	}
	for _, a := range p.axes {
		if p.extent[a] < 0 {
			refuse("several boxes whose sizes are open along dimension %d, in which they begin at indices", a)
		}
	}
	inside := x.whereInside(p, v)
	x.batched(p, common, x.ints("scatter_indices_batching_dims"), vectorAt)
	x.settle(p, v)
	rest := without(p.rank, p.dims...)
	var order []int
	for i, d := range without(updates.rank(), windows...) {
		labels[d] = batchLabel(i)
		order = append(order, batchLabel(i))
	}
	rows := x.arrange(updates, labels, slices.Concat(order, p.windows, rest))
	number := x.rowsOf(p, v, inside)
	if largest := kind == "maximum"; v.dtype.Float() && (largest || kind == "minimum") {
		y := x.written(p, x.nanFirst(v, largest), x.nanFirst(rows, largest), number, kind, rest)
		return []*value{x.bits(x.mirrored(y), v.dtype)}
	}
	return []*value{x.written(p, v, rows, number, kind, rest)}
}

// boxWritten is a scatter of a single box, with any region.
func (x *site) boxWritten(p *places, v, updates *value) *value {
	size, begin := x.sizes(updates), x.begin(p)
	most := x.each(ops.Sub, nil, x.sizes(v), size)
	first := x.between(begin, most)
	old := x.node(ops.Slice, updates.dims, nil, v, first, size)
	y := x.node(ops.XlaDynamicUpdateSlice, v.dims, nil, v, x.apply(x.region(0), old, updates)[0], first)
	inside := x.node(ops.All, nil, nil, x.each(ops.Equal, nil, begin, first), ints(0))
	return x.each(ops.SelectV2, nil, inside, y, v)
}

// nanFirst maps floats to integers. NaN becomes the largest, or the smallest, so that it wins, which it does not in float scatters.
func (x *site) nanFirst(v *value, largest bool) *value {
	nan := math.NaN()
	if !largest {
		nan = math.Copysign(nan, -1)
	}
	return x.ordered(x.each(ops.SelectV2, nil, x.each(ops.IsNan, nil, v), scalar(v.dtype, nan), v))
}

// whereInside reports which boxes lie inside the operand [batch...].
func (x *site) whereInside(p *places, v *value) *value {
	zero := x.each(ops.GreaterEqual, nil, p.index, scalar(tensor.Int32, 0))
	most := x.each(ops.LessEqual, nil, p.index, x.room(p, v))
	return x.node(ops.All, p.batch, nil, x.each(ops.LogicalAnd, nil, zero, most), ints(len(p.batch)))
}

// rowsOf returns the row of the operand for each point of the boxes; points that are skipped get the row after the last.
func (x *site) rowsOf(p *places, v, inside *value) *value {
	n := len(p.batch)
	total := scalar(tensor.Int32, 1)
	shape := slices.Concat(p.batch, at(p.extent, p.windows))
	number := x.spread(scalar(tensor.Int32, 0), shape, x.shapeFrom(shape, x.restSizes(p.index, without(n))...))
	for i, d := range p.dims {
		column := x.column(p.points, i)
		column = x.node(ops.Reshape, shape, nil, column, x.shapeFrom(shape, x.restSizes(p.index, without(n))...))
		size := x.size(v, d)
		number = x.each(ops.AddV2, nil, x.each(ops.Mul, nil, number, size), column)
		total = x.each(ops.Mul, nil, total, size)
	}
	inside = x.insert(inside, offset(without(len(p.windows)), n)...)
	return x.each(ops.SelectV2, nil, inside, number, total)
}

// written updates the rows of the operand.
func (x *site) written(p *places, v, updates, number *value, kind string, rest []int) *value {
	perm := slices.Concat(p.dims, rest)
	moved := x.transpose(v, perm...)
	restSizes := make([]*value, len(rest))
	for i, d := range rest {
		restSizes[i] = x.size(v, d)
	}
	rowDims := at(v.dims, rest)
	flat := func(u *value, n int) *value { // merges the first n dimensions
		lead := 1
		for _, d := range u.dims[:n] {
			if lead *= d; d < 0 {
				lead = -1
				break
			}
		}
		to := append([]int{lead}, rowDims...)
		count := x.node(ops.Prod, nil, nil, x.slice(x.sizes(u), []int{0}, []int{n}), ints(0))
		return x.node(ops.Reshape, to, nil, u, x.pack(append([]*value{count}, restSizes...)))
	}
	table, rows := flat(moved, len(p.dims)), flat(updates, updates.rank()-len(rest))
	one := x.spread(scalar(v.dtype, 0), append([]int{1}, rowDims...), x.pack(append([]*value{scalar(tensor.Int32, 1)}, restSizes...)))
	longer := x.concat(0, table, one)
	numbers := x.node(ops.Reshape, []int{rows.dims[0], 1}, nil, number, ints(-1, 1))
	d := scatters[kind]
	var y *value
	switch {
	case v.dtype == tensor.Bool && kind != "return":
		refuse("the region %s of bools", kind)
	case kind == "multiply":
		flatNumbers := x.node(ops.Reshape, []int{rows.dims[0]}, nil, number, ints(-1))
		factors := x.node(ops.UnsortedSegmentProd, longer.dims, nil, rows, flatNumbers, x.size(longer, 0))
		y = x.each(ops.Mul, nil, longer, factors)
	case d == nil:
		refuse("the region %q", kind)
	default:
		y = x.node(d, longer.dims, nil, longer, numbers, rows)
	}
	zero, sizes := make([]int, len(rest)+1), slices.Repeat([]int{-1}, len(rest)+1)
	y = x.node(ops.Slice, table.dims, nil, y, ints(zero...), x.pack(append([]*value{x.size(table, 0)}, constants(sizes[1:])...)))
	y = x.node(ops.Reshape, moved.dims, nil, y, x.sizes(moved))
	back := make([]int, len(perm))
	for i, d := range perm {
		back[d] = i
	}
	return x.transpose(y, back...)
}

// constants returns numbers as scalars.
func constants(all []int) []*value {
	out := make([]*value, len(all))
	for i, v := range all {
		out[i] = scalar(tensor.Int32, float64(v))
	}
	return out
}
