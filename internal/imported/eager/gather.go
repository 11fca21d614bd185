package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// gatherOps read and write elements by index.
var gatherOps = map[*ops.Def]maker{
	ops.Gather:                plain(func(c call) error { return gather(c, c.t(0), gatherAxes{}) }),
	ops.GatherV2:              gatherV2,
	ops.ResourceGather:        resourceGather,
	ops.GatherNd:              plain(func(c call) error { return gatherNd(c, c.t(0)) }),
	ops.ResourceGatherNd:      plain(resourceGatherNd),
	ops.ScatterNd:             plain(scatterNd),
	ops.TensorScatterUpdate:   plain(tensorScatterUpdate),
	ops.TensorScatterAdd:      plain(tensorScatterAdd),
	ops.DynamicPartition:      dynamicPartition,
	ops.DynamicStitch:         dynamicStitch,
	ops.ParallelDynamicStitch: dynamicStitch,
	ops.ReverseSequence:       reverseSequence,
}

// gatherAxes has the dimension to index, and the number of leading batch dimensions. A strict gather checks indices
// even if the result is empty.
type gatherAxes struct {
	axis, batch int
	strict      bool
}

func gatherV2(s *site) (kernel, error) {
	batch := s.node.Int("batch_dims", 0)
	return func(c call) error {
		if err := rank("axis", c.t(2), 0); err != nil {
			return err
		}
		k, err := axisOf("axis", c.t(2), len(c.t(0).Shape))
		if err != nil {
			return err
		}
		b := batch
		if b < 0 {
			b += len(c.t(1).Shape)
		}
		return gather(c, c.t(0), gatherAxes{axis: k, batch: b})
	}, nil
}

func resourceGather(s *site) (kernel, error) {
	b := s.node.Int("batch_dims", 0)
	return func(c call) error {
		return look(c.in[0], func(t *tensor.Tensor) error { return gather(c, t, gatherAxes{axis: b, batch: b, strict: true}) })
	}, nil
}

// gather sets output 0 to the slices of t with the indices in input 1.
func gather(c call, t *tensor.Tensor, g gatherAxes) error {
	idx := c.t(1)
	if g.batch < 0 || g.batch > g.axis || g.batch > len(idx.Shape) || g.axis >= len(t.Shape) || !slices.Equal(t.Shape[:g.batch], idx.Shape[:g.batch]) {
		return fmt.Errorf("params of shape %v, indices of shape %v: batch_dims %d and axis %d do not fit", t.Shape, idx.Shape, g.batch, g.axis)
	}
	shape := slices.Concat(t.Shape[:g.axis], idx.Shape[g.batch:], t.Shape[g.axis+1:])
	if g.strict || product(shape) > 0 {
		if err := rowsBelow(idx, t.Shape[g.axis]); err != nil {
			return err
		}
	}
	out, err := c.overwritten(0, t.DType, shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	switch idx.DType {
	case tensor.Int32:
		gatherBy(out, t, tensor.Values[int32](idx), g)
	case tensor.Int64:
		gatherBy(out, t, tensor.Values[int64](idx), g)
	default:
		return fmt.Errorf("indices: expected int32 or int64, got %v", idx.DType)
	}
	return nil
}

// gatherBy gathers slices by ids, which must be valid. The output must not be empty.
func gatherBy[I int32 | int64](out, t *tensor.Tensor, ids []I, g gatherAxes) {
	n, batches := t.Shape[g.axis], product(t.Shape[:g.batch])
	outer, inner := product(t.Shape[g.batch:g.axis]), product(t.Shape[g.axis+1:])
	per := len(ids) / batches
	for b := range batches {
		mine := ids[b*per : (b+1)*per]
		for o := range outer {
			k := b*outer + o
			pickRows(out, t, rowsFrom{dst: k * per * inner, src: k * n * inner, n: inner}, mine)
		}
	}
}

// at formats the index of element i of a shape, like [0,2].
func at(shape []int, i int) string {
	if len(shape) == 0 {
		return ""
	}
	s := "]"
	for k := len(shape) - 1; k >= 0; k-- {
		s = fmt.Sprint(i%shape[k]) + s
		i /= shape[k]
		if k > 0 {
			s = "," + s
		}
	}
	return "[" + s
}

// slots has the slices that the last dimension of an index tensor selects.
type slots struct {
	slices []int64 // their numbers, in the indexed tensor's order
	lead   []int   // shape of the indices without the last dimension
	rest   []int   // shape of one slice
}

// places returns the offsets at which the slices begin.
func (s slots) places(c call) ([]int, error) {
	if err := c.room(len(s.slices), intBytes); err != nil {
		return nil, err
	}
	all, n := make([]int, len(s.slices)), product(s.rest)
	for i, v := range s.slices {
		all[i] = int(v) * n
	}
	return all, nil
}

// slotsOf resolves indices [..., k] into a tensor of the given shape.
func slotsOf(c call, idx *tensor.Tensor, shape []int) (slots, error) {
	var s slots
	if len(idx.Shape) == 0 {
		return s, fmt.Errorf("indices must be at least a vector")
	}
	s.lead = idx.Shape[:len(idx.Shape)-1]
	k := idx.Shape[len(s.lead)]
	if k > len(shape) {
		return s, fmt.Errorf("indices of shape %v: expected a last dimension of at most %d", idx.Shape, len(shape))
	}
	if n := product(s.lead); k == 0 && n > 1<<20 {
		return s, fmt.Errorf("%w: %d empty indices", ErrLimit, n)
	}
	s.rest = shape[k:]
	if err := c.room(product(s.lead), 8); err != nil {
		return s, err
	}
	s.slices = make([]int64, product(s.lead))
	switch idx.DType {
	case tensor.Int32:
		return s, sliceNumbers(s.slices, tensor.Values[int32](idx), s.lead, shape[:k], shape)
	case tensor.Int64:
		return s, sliceNumbers(s.slices, tensor.Values[int64](idx), s.lead, shape[:k], shape)
	}
	return s, fmt.Errorf("indices: expected int32 or int64, got %v", idx.DType)
}

// sliceNumbers sets to to the numbers of slices: each has an index for each of dims, the first dimensions of shape.
func sliceNumbers[I int32 | int64](to []int64, ids []I, lead, dims, shape []int) error {
	k := len(dims)
	for i := range to {
		var sum int64
		for j, v := range ids[i*k : (i+1)*k] {
			if uint64(v) >= uint64(dims[j]) { // a negative index becomes a large number
				return fmt.Errorf("indices%s = %v does not index into param shape %v", at(lead, i), ids[i*k:(i+1)*k], shape)
			}
			sum = sum*int64(dims[j]) + int64(v)
		}
		to[i] = sum
	}
	return nil
}

func gatherNd(c call, t *tensor.Tensor) error {
	if len(t.Shape) == 0 {
		return fmt.Errorf("params: expected at least a vector, got a scalar")
	}
	s, err := slotsOf(c, c.t(1), t.Shape)
	if err != nil {
		return err
	}
	if t.Len() == 0 && len(s.slices) > 0 {
		return fmt.Errorf("params of shape %v are empty, but there are %d indices", t.Shape, len(s.slices))
	}
	out, err := c.overwritten(0, t.DType, slices.Concat(s.lead, s.rest)...)
	if err != nil || out.Len() == 0 {
		return err
	}
	pickRows(out, t, rowsFrom{n: product(s.rest)}, s.slices)
	return nil
}

func resourceGatherNd(c call) error {
	return look(c.in[0], func(t *tensor.Tensor) error { return gatherNd(c, t) })
}

// scatter resolves where the slices of updates go in a tensor of the given shape.
func scatter(c call, idx, updates *tensor.Tensor, shape []int) (slots, error) {
	if product(shape) == 0 && idx.Len()+updates.Len() > 0 {
		return slots{}, fmt.Errorf("indices and updates for a result of shape %v, which is empty", shape)
	}
	s, err := slotsOf(c, idx, shape)
	if err == nil && !slices.Equal(updates.Shape, slices.Concat(s.lead, s.rest)) {
		err = fmt.Errorf("updates: expected shape %v, got %v", slices.Concat(s.lead, s.rest), updates.Shape)
	}
	return s, err
}

func scatterNd(c call) error {
	shape, err := c.vector("shape", c.t(2))
	if err != nil {
		return err
	}
	out, err := c.output(0, c.t(1).DType, shape...)
	if err != nil {
		return err
	}
	s, err := scatter(c, c.t(0), c.t(1), shape)
	if err != nil {
		return err
	}
	places, err := s.places(c)
	if err != nil {
		return err
	}
	return addSlices(out, places, c.t(1), product(s.rest))
}

func tensorScatterUpdate(c call) error {
	s, out, err := scattered(c)
	if err != nil {
		return err
	}
	putRows(out, c.t(2), s.slices, product(s.rest))
	return nil
}

func tensorScatterAdd(c call) error {
	s, out, err := scattered(c)
	if err != nil {
		return err
	}
	places, err := s.places(c)
	if err != nil {
		return err
	}
	return addSlices(out, places, c.t(2), product(s.rest))
}

// tensorScatterBy changes slices of a copy of input 0.
func tensorScatterBy(how change) kernel {
	return func(c call) error {
		s, out, err := scattered(c)
		if err != nil {
			return err
		}
		places, err := s.places(c)
		if err != nil {
			return err
		}
		return how.slices(out, places, c.t(2), product(s.rest))
	}
}

// scattered returns where the slices in input 2 go in output 0, a copy of input 0.
func scattered(c call) (s slots, out *tensor.Tensor, err error) {
	if err := sameType([]Value{c.in[0], c.in[2]}); err != nil {
		return s, nil, err
	}
	if s, err = scatter(c, c.t(1), c.t(2), c.t(0).Shape); err != nil {
		return s, nil, err
	}
	if out, err = c.output(0, c.t(0).DType, c.t(0).Shape...); err != nil {
		return s, nil, err
	}
	copyCells(out, 0, c.t(0), 0, out.Len())
	return s, out, nil
}

// addSlices adds slice i of src, of n elements, to dst at places[i]. For strings the last one wins; booleans are or-ed.
func addSlices(dst *tensor.Tensor, places []int, src *tensor.Tensor, n int) error {
	switch src.DType {
	case tensor.String:
		for i, p := range places {
			copyCells(dst, p, src, i*n, n)
		}
	case tensor.Bool:
		for i, p := range places {
			for j, v := range tensor.Values[bool](src)[i*n : (i+1)*n] {
				if v {
					tensor.Values[bool](dst)[p+j] = true
				}
			}
		}
	default:
		return addition.slices(dst, places, src, n)
	}
	return nil
}
