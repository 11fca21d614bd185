package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	gtensor "gorgonia.org/tensor"
)

// axes returns the reduced axes in order, each once.
func (s *site) axes() []int {
	a := slices.Clone(s.ints("along"))
	slices.Sort(a)
	return slices.Compact(a)
}

func lowerSum(s *site) (graph.Output, error) { return s.reduceTo("Sum") }
func lowerMax(s *site) (graph.Output, error) { return s.reduceTo("Max") }

func (s *site) reduceTo(op string) (graph.Output, error) {
	return s.reshape(s.reduce(op, s.in[0], false, s.axes()...), s.shape...), nil
}

// lowerSize gives the size of a dimension as a number of the operand's type. The
// size is read at run time, since it may be the batch size.
func lowerSize(s *site) (graph.Output, error) {
	x := s.in[0]
	if len(x.Shape().Dims) == 0 {
		return s.scalar("Size", s.out.DType, 1), nil
	}
	size := s.size(x, s.int("axis"))
	out := s.cast(size, s.out.DType)
	s.l.sizes[out] = size
	return out, nil
}

// lowerRepeat repeats each element along an axis.
func lowerRepeat(s *site) (graph.Output, error) {
	x, along := s.in[0], s.int("along")
	shape := sizes(x)
	for len(shape) <= along {
		shape = append(shape, 1)
	}
	x = s.reshape(x, shape...)
	if slices.Equal(shape, s.shape) {
		return x, nil
	}
	times := s.l.sizes[s.in[1]]
	if !times.Valid() {
		times = s.cast(s.in[1], tensor.Int32)
	}
	if shape[along] == 1 {
		out := s.tile(x, along, s.shape[along], times)
		s.l.untiled[out] = x
		return out, nil
	}
	// Each element repeats, not the whole axis: put a new axis after it.
	apart := slices.Insert(slices.Clone(shape), along+1, 1)
	return s.reshape(s.tile(s.reshape(x, apart...), along+1, s.shape[along]/shape[along], times), s.shape...), nil
}

// tile repeats x, whose size along axis is 1, n times; times says so at run time.
func (s *site) tile(x graph.Output, axis, n int, times graph.Output) graph.Output {
	shape := sizes(x)
	multiples := make([]graph.Output, len(shape))
	var one graph.Output
	for i := range shape {
		if i == axis {
			multiples[i] = times
			continue
		}
		if !one.Valid() {
			one = s.scalar("Tile/one", tensor.Int32, 1)
		}
		multiples[i] = one
	}
	shape[axis] = n
	packed := s.add("Pack", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(len(shape))},
		graph.Attrs{"T": tensor.Int32, "N": int64(len(shape)), "axis": int64(0)}, multiples...)
	return s.add("Tile", like(x, shape...), graph.Attrs{"T": x.DType(), "Tmultiples": tensor.Int32}, x, packed)
}

func lowerTranspose(s *site) (graph.Output, error) {
	return s.transpose(s.in[0], s.ints("pattern")...), nil
}

func lowerConcat(s *site) (graph.Output, error) {
	if len(s.in) == 1 {
		return s.in[0], nil
	}
	axis := s.scalar("concat/axis", tensor.Int32, float64(s.int("axis")))
	return s.add("ConcatV2", s.out, graph.Attrs{"T": s.out.DType, "N": int64(len(s.in)), "Tidx": tensor.Int32}, append(slices.Clone(s.in), axis)...), nil
}

// span is the part of one axis that a slice takes.
type span struct {
	axis, start, end, step int
	whole, shrink          bool // all of the axis; the axis disappears
}

// slice reads what part of shape the op takes.
func (s *site) slice(shape []int) (span, error) {
	p := span{axis: s.int("along"), step: 1}
	n := shape[p.axis]
	sl := s.op.(interface{ IsSlice() gtensor.Slice }).IsSlice()
	if sl == nil || sl.End() <= sl.Start() {
		p.end, p.whole = n, true
		return p, nil
	}
	p.start, p.end = sl.Start(), sl.End()
	if st := sl.Step(); st > 1 {
		p.step = st
	}
	if p.start < 0 || p.end > n || (p.end-p.start)%p.step != 0 {
		return p, unsupported(s.node, fmt.Sprintf("slice [%d:%d:%d] of %d elements: expected bounds inside, and a step that divides their distance", p.start, p.end, p.step, n))
	}
	p.shrink = (p.end-p.start)/p.step == 1
	p.whole = p.start == 0 && p.end == n && p.step == 1 && !p.shrink
	return p, nil
}

// strided returns the operands and attributes of StridedSlice for a span of a tensor of the given rank.
func (s *site) strided(p span, rank int, d tensor.DType) (begin, end, strides graph.Output, attrs graph.Attrs) {
	b, e, st := make([]int, rank), make([]int, rank), make([]int, rank)
	keep := int64(1)<<rank - 1
	for i := range st {
		st[i] = 1
	}
	b[p.axis], e[p.axis], st[p.axis] = p.start, p.end, p.step
	keep &^= 1 << p.axis
	var shrink int64
	if p.shrink {
		shrink = 1 << p.axis
	}
	return s.vector("StridedSlice/begin", b...), s.vector("StridedSlice/end", e...), s.vector("StridedSlice/strides", st...), sliceAttrs(d, keep, shrink)
}

func lowerSlice(s *site) (graph.Output, error) {
	x := s.in[0]
	p, err := s.slice(sizes(x))
	if err != nil {
		return graph.Output{}, err
	}
	if p.whole {
		return s.reshape(x, s.shape...), nil
	}
	begin, end, strides, attrs := s.strided(p, len(sizes(x)), x.DType())
	return s.add("StridedSlice", s.out, attrs, x, begin, end, strides), nil
}

// lowerSliceGrad puts the gradient where the slice was taken and zeros elsewhere.
// Gorgonia's first operand only gives the shape.
func lowerSliceGrad(s *site) (graph.Output, error) {
	x, dy := s.in[0], s.in[1]
	p, err := s.slice(sizes(x))
	if err != nil {
		return graph.Output{}, err
	}
	if p.whole {
		return s.reshape(dy, s.shape...), nil
	}
	want := sizes(x)
	want[p.axis] = (p.end - p.start) / p.step
	if p.shrink {
		want = slices.Delete(want, p.axis, p.axis+1)
	}
	dy = s.reshape(dy, want...)
	shape := s.add("Shape", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(len(s.shape))},
		graph.Attrs{"T": x.DType(), "out_type": tensor.Int32}, x)
	begin, end, strides, attrs := s.strided(p, len(s.shape), x.DType())
	return s.add("StridedSliceGrad", s.out, attrs, shape, begin, end, strides, dy), nil
}

// lowerAt takes one element.
func lowerAt(s *site) (graph.Output, error) {
	x, at := s.in[0], s.ints("coordinates")
	end, strides := make([]int, len(at)), make([]int, len(at))
	for i, c := range at {
		end[i], strides[i] = c+1, 1
	}
	return s.add("StridedSlice", s.out, sliceAttrs(x.DType(), 0, 1<<len(at)-1), x,
		s.vector("At/begin", at...), s.vector("At/end", end...), s.vector("At/strides", strides...)), nil
}
