package initializers

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Rows says which rows, along the first dimension, of a tensor of shape Full are
// filled: as many as the given tensor has, from First on.
type Rows struct {
	Full  []int
	First int
}

// RowInitializer fills rows with the same values as Init, without making the whole
// tensor.
type RowInitializer interface {
	Initializer
	InitRows(t *tensor.Tensor, rows Rows, key uint64) error
}

// maxWhole bounds the size of a tensor that is made only for a few of its rows.
const maxWhole = 1 << 30

// InitRows fills t with the rows of a whole tensor as i fills it, bit for bit. If i is
// not a RowInitializer, it makes the whole tensor, which may have at most 1 GiB.
func InitRows(i Initializer, t *tensor.Tensor, rows Rows, key uint64) error {
	if len(t.Shape) != len(rows.Full) {
		return fmt.Errorf("initial rows of shape %v of a tensor of shape %v: expected the same rank", t.Shape, rows.Full)
	}
	if len(t.Shape) == 0 {
		return i.Init(t, key)
	}
	if rows.First < 0 || t.Shape[0] > rows.Full[0]-rows.First || !slices.Equal(t.Shape[1:], rows.Full[1:]) {
		return fmt.Errorf("initial rows of shape %v from %d on of a tensor of shape %v: expected rows of it", t.Shape, rows.First, rows.Full)
	}
	if r, ok := i.(RowInitializer); ok {
		return r.InitRows(t, rows, key)
	}
	if n := tensor.NumElements(rows.Full) * t.DType.Size(); n > maxWhole {
		return fmt.Errorf("initializer %T: a tensor of shape %v takes %d bytes, and it cannot be made by rows: choose another initializer", i, rows.Full, n)
	}
	all := tensor.New(t.DType, rows.Full...)
	if err := i.Init(all, key); err != nil {
		return err
	}
	copy(t.Bytes, all.Bytes[rows.offset()*t.DType.Size():])
	return nil
}

// whole is all rows of t.
func whole(t *tensor.Tensor) Rows { return Rows{Full: t.Shape} }

// offset returns the number of elements before the rows.
func (r Rows) offset() int {
	if len(r.Full) == 0 {
		return 0
	}
	return r.First * tensor.NumElements(r.Full[1:])
}
