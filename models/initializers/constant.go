package initializers

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Constant fills a tensor of a numeric type with one value.
type Constant struct{ Value float64 }

// Zeros fills a tensor with zeros.
func Zeros() Constant { return Constant{0} }

// Ones fills a tensor with ones.
func Ones() Constant { return Constant{1} }

// Init fills t; the key is not used. Types other than float32, float64, int32,
// int64 and uint8 are an error.
func (c Constant) Init(t *tensor.Tensor, _ uint64) error {
	switch t.DType {
	case tensor.Float32:
		fill(t, float32(c.Value))
	case tensor.Float64:
		fill(t, c.Value)
	case tensor.Int32:
		fill(t, int32(c.Value))
	case tensor.Int64:
		fill(t, int64(c.Value))
	case tensor.Uint8:
		fill(t, uint8(c.Value))
	default:
		return fmt.Errorf("constant initializer: type %v: expected float32, float64, int32, int64 or uint8", t.DType)
	}
	return nil
}

// InitRows fills rows of a tensor.
func (c Constant) InitRows(t *tensor.Tensor, _ Rows, key uint64) error { return c.Init(t, key) }

func fill[T tensor.Element](t *tensor.Tensor, v T) {
	data := tensor.Values[T](t)
	for i := range data {
		data[i] = v
	}
}

// Identity fills a matrix with Gain on its main diagonal, zeros elsewhere.
type Identity struct{ Gain float64 }

// Init fills t, which must be a matrix of a float type.
func (e Identity) Init(t *tensor.Tensor, key uint64) error { return e.InitRows(t, whole(t), key) }

// InitRows fills rows of a matrix.
func (e Identity) InitRows(t *tensor.Tensor, rows Rows, _ uint64) error {
	if len(t.Shape) != 2 {
		return fmt.Errorf("identity initializer: shape %v: expected a matrix", rows.Full)
	}
	n, cols := t.Shape[0], t.Shape[1]
	m := make([]float64, n*cols)
	for i := range n {
		if at := rows.First + i; at < cols {
			m[i*cols+at] = e.Gain
		}
	}
	return store(t, m)
}
