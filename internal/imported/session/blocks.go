package session

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// constantInts returns the integers of a constant input.
func (x *emission) constantInts(i int) ([]int, error) {
	if i >= len(x.in) {
		return nil, fmt.Errorf("expected an input %d", i)
	}
	t, ok := x.in[i].Node.Attrs["value"].(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("input %d: expected a constant", i)
	}
	return convert.Ints(t)
}

// spaceToBatch pads, cuts each axis into blocks and moves these to the front. Dilated convolutions are exported in this form.
func spaceToBatch(x *emission) ([]graph.Output, error) {
	block, err := x.constantInts(1)
	if err != nil {
		return nil, err
	}
	pads, err := x.constantInts(2)
	if err != nil {
		return nil, err
	}
	dims := x.in[0].Shape().Dims
	if len(dims) < len(block)+1 || len(pads) != 2*len(block) {
		return nil, fmt.Errorf("blocks %v and paddings %v of shape %v", block, pads, x.in[0].Shape())
	}
	padded, by := []graph.Dim{}, []int32{}
	for i, d := range dims {
		var p [2]int
		if i >= 1 && i <= len(block) {
			p = [2]int{pads[2*i-2], pads[2*i-1]}
		}
		padded, by = append(padded, graph.Dim{PerBatch: d.PerBatch, Const: d.Const + p[0] + p[1]}), append(by, int32(p[0]), int32(p[1]))
	}
	paddings, err := tensor.FromSlice(by, len(dims), 2)
	if err != nil {
		return nil, err
	}
	y := x.op("Pad", shapeOfDims(padded...), nil, x.in[0], x.b.Const(x.b.Graph.UniqueName(x.n.Name+"/paddings"), paddings))
	cut, front, back := []graph.Dim{padded[0]}, []int{}, []int{0}
	for i, b := range block {
		d := padded[i+1]
		if d.PerBatch != 0 || b < 1 || d.Const%b != 0 {
			return nil, fmt.Errorf("blocks of %d in %v", b, d)
		}
		front, back = append(front, len(cut)+1), append(back, len(cut))
		cut = append(cut, graph.Fixed(d.Const/b), graph.Fixed(b))
	}
	for _, d := range padded[len(block)+1:] {
		back = append(back, len(cut))
		cut = append(cut, d)
	}
	y = x.transpose(x.reshape(y, cut...), append(front, back...))
	return []graph.Output{x.reshape(y, x.types[0].Shape.Dims...)}, x.b.Err()
}

// batchToSpace undoes spaceToBatch.
func batchToSpace(x *emission) ([]graph.Output, error) {
	block, err := x.constantInts(1)
	if err != nil {
		return nil, err
	}
	crops, err := x.constantInts(2)
	if err != nil {
		return nil, err
	}
	dims, out := x.in[0].Shape().Dims, x.types[0].Shape.Dims
	if len(dims) < len(block)+1 || len(crops) != 2*len(block) || len(out) != len(dims) {
		return nil, fmt.Errorf("blocks %v and crops %v of shape %v", block, crops, x.in[0].Shape())
	}
	cut, perm := []graph.Dim{}, []int{len(block)}
	for _, b := range block {
		cut = append(cut, graph.Fixed(b))
	}
	cut = append(append(cut, out[0]), dims[1:]...)
	whole, begin := []graph.Dim{out[0]}, []int32{0}
	for i, b := range block {
		d, err := product(dims[i+1], graph.Fixed(b))
		if err != nil {
			return nil, err
		}
		perm = append(perm, len(block)+1+i, i)
		whole, begin = append(whole, d), append(begin, int32(crops[2*i]))
	}
	for i, d := range dims[len(block)+1:] {
		perm = append(perm, 2*len(block)+1+i)
		whole, begin = append(whole, d), append(begin, 0)
	}
	y := x.reshape(x.transpose(x.reshape(x.in[0], cut...), perm), whole...)
	if y.Shape().Equal(x.types[0].Shape) {
		return []graph.Output{y}, x.b.Err()
	}
	return []graph.Output{x.op("Slice", x.types[0].Shape, nil, y, x.ints(begin), x.ints(make([]int32, len(out))))}, x.b.Err()
}
