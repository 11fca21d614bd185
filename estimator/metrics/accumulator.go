package metrics

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"

	"github.com/goestimator/goestimator/tensor"
)

// ErrIncompatible is wrapped by errors of Merge and UnmarshalBinary if the other
// metric is of another kind or has other parameters.
var ErrIncompatible = errors.New("incompatible metric state")

// ErrParameter is wrapped by the errors of constructors that were given a parameter
// outside its range.
var ErrParameter = errors.New("invalid parameter")

// An Accumulator computes a metric batch by batch. Merging two accumulators that
// saw disjoint examples gives one that saw all of them.
type Accumulator interface {
	// Update adds one batch. The constructor's comment says which tensors it takes;
	// a nil last tensor means no weights. After an error the accumulator is
	// unchanged.
	Update(args ...*tensor.Tensor) error
	// Merge adds what other saw, and does not change other. It fails with
	// ErrIncompatible if other is of another kind or has other parameters.
	Merge(other Accumulator) error
	// Result returns the metric over everything seen since the last Reset.
	Result() Value
	// Reset forgets everything seen.
	Reset()

	// MarshalBinary and UnmarshalBinary carry the state to an accumulator made
	// with the same parameters in another process.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// A Value is the result of a metric: a scalar, such as Value{Data: []float64{0.5}}, or a tensor, such as a confusion matrix.
type Value struct {
	Shape []int     // empty: a scalar
	Data  []float64 // row-major
}

// Scalar returns the value of a scalar, and whether v is one.
func (v Value) Scalar() (float64, bool) {
	if len(v.Shape) != 0 || len(v.Data) != 1 {
		return 0, false
	}
	return v.Data[0], true
}

// Tensor returns v as a float64 tensor that shares no memory with v.
func (v Value) Tensor() *tensor.Tensor {
	t := tensor.New(tensor.Float64, v.Shape...)
	copy(tensor.Values[float64](t), v.Data)
	return t
}

// String formats a scalar like a number and anything else like a list.
func (v Value) String() string {
	if s, ok := v.Scalar(); ok {
		return strconv.FormatFloat(s, 'g', -1, 64)
	}
	return fmt.Sprint(v.Data)
}

// scalar returns the Value of one number.
func scalar(x float64) Value { return Value{Data: []float64{x}} }

// divNoNaN is tf.math.divide_no_nan: 0 if the denominator is 0.
func divNoNaN(num, den float64) float64 {
	if den == 0 {
		return 0
	}
	return num / den
}
