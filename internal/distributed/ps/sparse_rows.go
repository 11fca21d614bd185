package ps

import "github.com/goestimator/goestimator/tensor"

// sparseRows are the rows of a sparse gradient; rows with equal ids are summed.
type sparseRows struct {
	v      *Variable
	d      *distinct
	values []byte
}

func newSparseRows(v *Variable, g Gradient, d *distinct) *sparseRows {
	return &sparseRows{v: v, d: d, values: g.Value.Bytes}
}

// read writes the sums of the unique rows [lo, hi) to dst.
func (r *sparseRows) read(dst []byte, lo, hi int) {
	n := r.v.rowBytes() / r.v.DType.Size()
	if r.v.DType == tensor.Float32 {
		sumRows(r.d, floats[float32](dst), floats[float32](r.values), lo, hi, n)
	} else {
		sumRows(r.d, floats[float64](dst), floats[float64](r.values), lo, hi, n)
	}
}
