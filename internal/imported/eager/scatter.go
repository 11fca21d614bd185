package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// scatterOps change rows and slices of variables by index.
var scatterOps = map[*ops.Def]maker{
	ops.ScatterAdd:              plain(scatterRowsBy(addition)),
	ops.ResourceScatterAdd:      plain(scatterRowsBy(addition)),
	ops.ScatterSub:              plain(scatterRowsBy(subtraction)),
	ops.ResourceScatterSub:      plain(scatterRowsBy(subtraction)),
	ops.ScatterMul:              plain(scatterRowsBy(multiplication)),
	ops.ResourceScatterMul:      plain(scatterRowsBy(multiplication)),
	ops.ScatterDiv:              plain(scatterRowsBy(division)),
	ops.ResourceScatterDiv:      plain(scatterRowsBy(checkedDivision)),
	ops.ScatterMin:              plain(scatterRowsBy(smallest)),
	ops.ResourceScatterMin:      plain(scatterRowsBy(smallest)),
	ops.ScatterMax:              plain(scatterRowsBy(largest)),
	ops.ResourceScatterMax:      plain(scatterRowsBy(largest)),
	ops.ScatterUpdate:           plain(scatterRowsBy(replacement)),
	ops.ResourceScatterUpdate:   plain(scatterRowsBy(replacement)),
	ops.ScatterNdAdd:            plain(scatterSlicesBy(addition)),
	ops.ResourceScatterNdAdd:    plain(scatterSlicesBy(addition)),
	ops.ScatterNdSub:            plain(scatterSlicesBy(subtraction)),
	ops.ResourceScatterNdSub:    plain(scatterSlicesBy(subtraction)),
	ops.ScatterNdMax:            plain(scatterSlicesBy(largest)),
	ops.ResourceScatterNdMax:    plain(scatterSlicesBy(largest)),
	ops.ScatterNdMin:            plain(scatterSlicesBy(smallest)),
	ops.ResourceScatterNdMin:    plain(scatterSlicesBy(smallest)),
	ops.ScatterNdUpdate:         plain(scatterSlicesBy(replacement)),
	ops.ResourceScatterNdUpdate: plain(scatterSlicesBy(replacement)),
}

// change is how an update changes an element.
type change int

const (
	replacement change = iota
	addition
	subtraction
	multiplication
	division
	checkedDivision // refuses zeros of any type
	smallest
	largest
)

// scatterRowsBy changes the rows listed in indices of any shape. A scalar update changes all elements of each row.
func scatterRowsBy(how change) kernel {
	return func(c call) error {
		c.forward()
		return c.edit(c.in[:1], func(values []*tensor.Tensor) error {
			v, indices, updates := values[0], c.t(1), c.t(2)
			if len(v.Shape) == 0 {
				return fmt.Errorf("%w: expected a variable of at least one dimension", errShapes)
			}
			if want := slices.Concat(indices.Shape, v.Shape[1:]); len(updates.Shape) != 0 && !slices.Equal(updates.Shape, want) {
				return fmt.Errorf("%w: expected updates of shape %v for indices of shape %v into a variable of shape %v, got %v", errShapes, want, indices.Shape, v.Shape, updates.Shape)
			}
			if err := rowsBelow(indices, v.Shape[0]); err != nil {
				return err
			}
			return how.rows(c, v, indices, updates)
		})
	}
}

// rows changes the rows of v listed in indices.
func (how change) rows(c call, v, indices, updates *tensor.Tensor) error {
	if len(updates.Shape) != 0 && updates.DType == v.DType {
		done := false
		if indices.DType == tensor.Int32 {
			done = changeRows(how, v, updates, tensor.Values[int32](indices))
		} else {
			done = changeRows(how, v, updates, tensor.Values[int64](indices))
		}
		if done {
			return nil
		}
	}
	ids, err := c.integers("indices", indices)
	if err != nil {
		return err
	}
	width := product(v.Shape[1:])
	for k := range ids {
		ids[k] *= width
	}
	return how.slices(v, ids, updates, width)
}

// changeRows replaces rows, or adds or subtracts rows of floats. It returns false for other changes.
func changeRows[I int32 | int64](how change, v, updates *tensor.Tensor, ids []I) bool {
	op, width := vectorChanges[how], product(v.Shape[1:])
	switch {
	case how == replacement:
		putRows(v, updates, ids, width)
	case how != addition && how != subtraction:
		return false
	case v.DType == tensor.Float32:
		kernels.ScatterRows(op, tensor.Values[float32](v), tensor.Values[float32](updates), ids, width)
	case v.DType == tensor.Float64:
		kernels.ScatterRows(op, tensor.Values[float64](v), tensor.Values[float64](updates), ids, width)
	default:
		return false
	}
	return true
}

// scatterSlicesBy changes the slices selected by the last dimension of the indices.
func scatterSlicesBy(how change) kernel {
	return func(c call) error {
		c.forward()
		return c.edit(c.in[:1], func(values []*tensor.Tensor) error {
			v, updates := values[0], c.t(2)
			s, err := scatter(c, c.t(1), updates, v.Shape)
			if err != nil {
				return err
			}
			places, err := s.places(c)
			if err != nil {
				return err
			}
			return how.slices(v, places, updates, product(s.rest))
		})
	}
}

// slices changes n elements of v at each index in places by the next n updates, or by the only update.
func (how change) slices(v *tensor.Tensor, places []int, updates *tensor.Tensor, n int) error {
	if err := want("updates", updates, v.DType); err != nil {
		return err
	}
	if size := v.DType.Size(); len(places) == 1 && updates.Len() == n && how.vector(v.DType, v.Bytes[places[0]*size:][:n*size], updates.Bytes) {
		return nil
	}
	switch v.DType {
	case tensor.Float32:
		return changeAll[float32](how, v, places, updates, n)
	case tensor.Float64:
		return changeAll[float64](how, v, places, updates, n)
	case tensor.Int8:
		return changeAll[int8](how, v, places, updates, n)
	case tensor.Int16:
		return changeAll[int16](how, v, places, updates, n)
	case tensor.Int32:
		return changeAll[int32](how, v, places, updates, n)
	case tensor.Int64:
		return changeAll[int64](how, v, places, updates, n)
	case tensor.Uint8:
		return changeAll[uint8](how, v, places, updates, n)
	case tensor.Uint16:
		return changeAll[uint16](how, v, places, updates, n)
	case tensor.Uint32:
		return changeAll[uint32](how, v, places, updates, n)
	case tensor.Uint64:
		return changeAll[uint64](how, v, places, updates, n)
	case tensor.Complex64:
		if how != replacement {
			return changeComplex[complex64](how, v, places, updates, n)
		}
	case tensor.Complex128:
		if how != replacement {
			return changeComplex[complex128](how, v, places, updates, n)
		}
	}
	if how != replacement || len(updates.Shape) == 0 && n != 1 {
		return fmt.Errorf("type %v %w", v.DType, ErrUnsupported)
	}
	for i, p := range places {
		copyCells(v, p, updates, i*n%max(updates.Len(), 1), n)
	}
	return nil
}

func changeAll[T number](how change, v *tensor.Tensor, places []int, updates *tensor.Tensor, n int) error {
	dst, src := tensor.Values[T](v), tensor.Values[T](updates)
	if how == checkedDivision || how == division && !v.DType.Float() {
		if slices.Contains(src, 0) {
			return fmt.Errorf("updates must not contain 0")
		}
	}
	var same []T // the only update, repeated for all elements at a place
	if len(updates.Shape) == 0 {
		same = slices.Repeat(src, n)
	}
	for i, p := range places {
		by := same
		if by == nil {
			by = src[i*n : (i+1)*n]
		}
		changeRow(how, dst[p:p+n], by)
	}
	return nil
}

// changeComplex is changeAll for complex numbers, which have no order.
func changeComplex[T complexNumber](how change, v *tensor.Tensor, places []int, updates *tensor.Tensor, n int) error {
	dst, src := tensor.Values[T](v), tensor.Values[T](updates)
	for i, p := range places {
		for j := range n {
			by := src[(i*n+j)%len(src)]
			switch how {
			case addition:
				dst[p+j] += by
			case subtraction:
				dst[p+j] -= by
			case multiplication:
				dst[p+j] *= by
			default:
				return fmt.Errorf("type %v %w", v.DType, ErrUnsupported)
			}
		}
	}
	return nil
}

// changeRow changes each element of old by the element of by at its index.
func changeRow[T number](how change, old, by []T) {
	by = by[:len(old)]
	switch how {
	case addition:
		for i, v := range by {
			old[i] += v
		}
	case subtraction:
		for i, v := range by {
			old[i] -= v
		}
	case multiplication:
		for i, v := range by {
			old[i] *= v
		}
	case division, checkedDivision:
		for i, v := range by {
			old[i] /= v
		}
	case smallest: // as in TensorFlow, an element stays if it or the update is NaN, or if both are zeros
		for i, v := range by {
			if v < old[i] {
				old[i] = v
			}
		}
	case largest:
		for i, v := range by {
			if v > old[i] {
				old[i] = v
			}
		}
	default:
		copy(old, by)
	}
}
