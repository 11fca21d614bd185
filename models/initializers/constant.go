package initializers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// Constant fills a tensor of a numeric type with one value.
type Constant struct{ Value float64 }

// Zeros fills a tensor with zeros.
func Zeros() Constant { return Constant{0} }

// Ones fills a tensor with ones.
func Ones() Constant { return Constant{1} }

// Init fills t; the key is not used. Types other than float32, float64, int32,
// int64 and uint8 are an error.
func (c Constant) Init(t *graph.Tensor, _ uint64) error {
	switch t.DType {
	case graph.Float32:
		fill(t, float32(c.Value))
	case graph.Float64:
		fill(t, c.Value)
	case graph.Int32:
		fill(t, int32(c.Value))
	case graph.Int64:
		fill(t, int64(c.Value))
	case graph.Uint8:
		fill(t, uint8(c.Value))
	default:
		return fmt.Errorf("constant initializer: type %v: expected float32, float64, int32, int64 or uint8", t.DType)
	}
	return nil
}

// InitRows fills rows of a tensor.
func (c Constant) InitRows(t *graph.Tensor, _ Rows, key uint64) error { return c.Init(t, key) }

func fill[T graph.Element](t *graph.Tensor, v T) {
	data := graph.Of[T](t)
	for i := range data {
		data[i] = v
	}
}

// Identity fills a matrix with Gain on its main diagonal, zeros elsewhere.
type Identity struct{ Gain float64 }

// Init fills t, which must be a matrix of a float type.
func (e Identity) Init(t *graph.Tensor, key uint64) error { return e.InitRows(t, whole(t), key) }

// InitRows fills rows of a matrix.
func (e Identity) InitRows(t *graph.Tensor, rows Rows, _ uint64) error {
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
