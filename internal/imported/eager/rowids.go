package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// badRow returns the position and the value of the first index that is not in [0, n); place is -1 if there is none.
func badRow(indices *tensor.Tensor, n int) (place int, id int64, err error) {
	switch indices.DType {
	case tensor.Int32:
		ids := tensor.Values[int32](indices)
		if place = kernels.BadRow(ids, n); place >= 0 {
			id = int64(ids[place])
		}
	case tensor.Int64:
		ids := tensor.Values[int64](indices)
		if place = kernels.BadRow(ids, n); place >= 0 {
			id = ids[place]
		}
	default:
		return 0, 0, fmt.Errorf("indices: expected int32 or int64, got %v", indices.DType)
	}
	return place, id, nil
}

// rowsBelow fails if an index is not in [0, n).
func rowsBelow(indices *tensor.Tensor, n int) error {
	place, id, err := badRow(indices, n)
	if err == nil && place >= 0 {
		err = fmt.Errorf("indices%s = %d is not in [0, %d)", at(indices.Shape, place), id, n)
	}
	return err
}

// rowsThere is rowsBelow with the error text of optimizers.
func rowsThere(indices *tensor.Tensor, n int) error {
	place, id, err := badRow(indices, n)
	if err == nil && place >= 0 {
		err = fmt.Errorf("Index %d at offset %d in indices is out of range", id, place)
	}
	return err
}

// putRows sets row ids[i] of dst, of n elements, to row i of src. All ids must be rows of dst.
func putRows[I int32 | int64](dst, src *tensor.Tensor, ids []I, n int) {
	if src.DType == tensor.String {
		for i, id := range ids {
			copyCells(dst, int(id)*n, src, i*n, n)
		}
		return
	}
	kernels.PutRows(dst.Bytes, src.Bytes, ids, n*src.DType.Size())
}

// rowsFrom describes rows of n elements that begin at element dst of one tensor and at element src of another.
type rowsFrom struct{ dst, src, n int }

// pickRows sets row i of dst to row ids[i] of src. All ids must be rows of src.
func pickRows[I int32 | int64](dst, src *tensor.Tensor, from rowsFrom, ids []I) {
	if src.DType == tensor.String {
		for i, id := range ids {
			copyCells(dst, from.dst+i*from.n, src, from.src+int(id)*from.n, from.n)
		}
		return
	}
	size := src.DType.Size()
	kernels.PickRows(dst.Bytes[from.dst*size:], src.Bytes[from.src*size:], ids, from.n*size)
}
