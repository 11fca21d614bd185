package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// number is the element types of arithmetic.
type number interface {
	float32 | float64 | int32 | int64 | uint8
}

type integer interface{ int32 | int64 | uint8 }

// binaryOps take two operands under NumPy's broadcasting.
var binaryOps = map[*ops.Def]opDef{
	ops.Add:               arithmetic(kernels.Add, add[int32], add[int64], add[uint8]),
	ops.AddV2:             arithmetic(kernels.Add, add[int32], add[int64], add[uint8]),
	ops.Sub:               arithmetic(kernels.Sub, sub[int32], sub[int64], sub[uint8]),
	ops.Mul:               arithmetic(kernels.Mul, mul[int32], mul[int64], mul[uint8]),
	ops.Maximum:           arithmetic(kernels.Max, larger[int32], larger[int64], larger[uint8]),
	ops.Minimum:           arithmetic(kernels.Min, smaller[int32], smaller[int64], smaller[uint8]),
	ops.SquaredDifference: arithmetic(kernels.SquaredDifference, sqdiff[int32], sqdiff[int64], sqdiff[uint8]),
	ops.RealDiv:           arithmetic(kernels.Div, nil, nil, nil),
	ops.Div:               arithmetic(kernels.Div, nil, nil, nil),
	ops.Pow:               arithmetic(kernels.Pow, nil, nil, nil),
	ops.DivNoNan:          elementwise(map[tensor.DType]compileFunc{tensor.Float32: kernelBinary[float32](kernels.DivNoNan), tensor.Float64: kernelBinary[float64](kernels.DivNoNan)}),
	ops.FloorDiv:          elementwise(map[tensor.DType]compileFunc{tensor.Float32: scalarBinary(floorDivFloat[float32]), tensor.Float64: scalarBinary(floorDivFloat[float64]), tensor.Int32: checkedDivision(floorDiv[int32]), tensor.Int64: checkedDivision(floorDiv[int64])}),
	ops.FloorMod:          elementwise(map[tensor.DType]compileFunc{tensor.Float32: scalarBinary(floorModFloat[float32]), tensor.Float64: scalarBinary(floorModFloat[float64]), tensor.Int32: checkedDivision(floorMod[int32]), tensor.Int64: checkedDivision(floorMod[int64])}),
	ops.LogicalAnd:        elementwise(map[tensor.DType]compileFunc{tensor.Bool: scalarBinary(func(a, b bool) bool { return a && b })}),
	ops.LogicalOr:         elementwise(map[tensor.DType]compileFunc{tensor.Bool: scalarBinary(func(a, b bool) bool { return a || b })}),
	ops.Equal:             comparison(equal[float32], equal[float64], equal[int32], equal[int64], equal[uint8], equal[bool]),
	ops.NotEqual:          comparison(notEqual[float32], notEqual[float64], notEqual[int32], notEqual[int64], notEqual[uint8], notEqual[bool]),
	ops.Less:              comparison(less[float32], less[float64], less[int32], less[int64], less[uint8], nil),
	ops.LessEqual:         comparison(lessEqual[float32], lessEqual[float64], lessEqual[int32], lessEqual[int64], lessEqual[uint8], nil),
	ops.Greater:           comparison(greater[float32], greater[float64], greater[int32], greater[int64], greater[uint8], nil),
	ops.GreaterEqual:      comparison(greaterEqual[float32], greaterEqual[float64], greaterEqual[int32], greaterEqual[int64], greaterEqual[uint8], nil),
}

func add[T number](a, b T) T     { return a + b }
func sub[T number](a, b T) T     { return a - b }
func mul[T number](a, b T) T     { return a * b }
func larger[T number](a, b T) T  { return max(a, b) }
func smaller[T number](a, b T) T { return min(a, b) }
func sqdiff[T number](a, b T) T  { return (a - b) * (a - b) }

func floorDivFloat[T kernels.Float](a, b T) T { return T(math.Floor(float64(a / b))) }

// floorModFloat has the sign of b, as Python's %.
func floorModFloat[T kernels.Float](a, b T) T {
	m := math.Mod(float64(a), float64(b))
	if m != 0 && (m < 0) != (b < 0) {
		m += float64(b)
	}
	return T(m)
}

func floorDiv[T integer](a, b T) T {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod[T integer](a, b T) T {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func equal[T comparable](a, b T) bool    { return a == b }
func notEqual[T comparable](a, b T) bool { return a != b }
func less[T number](a, b T) bool         { return a < b }
func lessEqual[T number](a, b T) bool    { return a <= b }
func greater[T number](a, b T) bool      { return a > b }
func greaterEqual[T number](a, b T) bool { return a >= b }

// arithmetic is an op with a vector kernel for floats and, if not nil, scalar functions for integers.
func arithmetic(op kernels.BinaryOp, i32 func(a, b int32) int32, i64 func(a, b int64) int64, u8 func(a, b uint8) uint8) opDef {
	forms := map[tensor.DType]compileFunc{tensor.Float32: kernelBinary[float32](op), tensor.Float64: kernelBinary[float64](op)}
	if i32 != nil {
		forms[tensor.Int32], forms[tensor.Int64], forms[tensor.Uint8] = scalarBinary(i32), scalarBinary(i64), scalarBinary(u8)
	}
	d := elementwise(forms)
	d.elemental = &elemental{binary: true, op: int(op), second: 1, broadcasts: true}
	return d
}

func elementwise(forms map[tensor.DType]compileFunc) opDef {
	return opDef{inplace: []int{0, 1}, compile: byType(forms, in0)}
}

func comparison(f32 func(a, b float32) bool, f64 func(a, b float64) bool, i32 func(a, b int32) bool,
	i64 func(a, b int64) bool, u8 func(a, b uint8) bool, b func(a, b bool) bool) opDef {
	forms := map[tensor.DType]compileFunc{tensor.Float32: scalarBinary(f32), tensor.Float64: scalarBinary(f64),
		tensor.Int32: scalarBinary(i32), tensor.Int64: scalarBinary(i64), tensor.Uint8: scalarBinary(u8)}
	if b != nil {
		forms[tensor.Bool] = scalarBinary(b)
	}
	return opDef{compile: byType(forms, in0)}
}

func kernelBinary[T kernels.Float](op kernels.BinaryOp) compileFunc {
	f := &vectors[T, T]{
		vv:  func(dst, a, b []T) { kernels.Binary(op, dst, a, b) },
		vs:  func(dst, a []T, k T) { kernels.BinaryScalar(op, dst, a, k) },
		sv:  func(dst []T, k T, b []T) { kernels.ScalarBinary(op, dst, k, b) },
		row: func(dst, a, b []T, rows, cols int) { kernels.BroadcastRow(op, dst, a, b, rows, cols) },
		col: func(dst, a, b []T, rows, cols int) { kernels.BroadcastCol(op, dst, a, b, rows, cols) },
	}
	return func(c *binding) (runFunc, error) { return compileBinary(c, f) }
}

// scalarBinary makes an op of a function of two elements.
func scalarBinary[T, R tensor.Element](f func(a, b T) R) compileFunc {
	return func(c *binding) (runFunc, error) {
		var dst []R
		var a, b []T
		var k T
		var width int
		vv := parallel(cheapGrain, func(lo, hi int) {
			d, x, y := dst[lo:hi], a[lo:hi], b[lo:hi]
			for i := range d {
				d[i] = f(x[i], y[i])
			}
		})
		vs := parallel(cheapGrain, func(lo, hi int) {
			d, x, s := dst[lo:hi], a[lo:hi], k
			for i := range d {
				d[i] = f(x[i], s)
			}
		})
		sv := parallel(cheapGrain, func(lo, hi int) {
			d, s, y := dst[lo:hi], k, b[lo:hi]
			for i := range d {
				d[i] = f(s, y[i])
			}
		})
		row := byRows(func(lo, hi int) {
			for r := lo; r < hi; r++ {
				d, x := dst[r*width:(r+1)*width], a[r*width:(r+1)*width]
				for i, e := range b[:width] {
					d[i] = f(x[i], e)
				}
			}
		})
		col := byRows(func(lo, hi int) {
			for r := lo; r < hi; r++ {
				d, s := dst[r*width:(r+1)*width], b[r]
				for i, e := range a[r*width : (r+1)*width] {
					d[i] = f(e, s)
				}
			}
		})
		return compileBinary(c, &vectors[T, R]{
			vv: func(d []R, x, y []T) { dst, a, b = d, x, y; vv(len(d)) },
			vs: func(d []R, x []T, s T) { dst, a, k = d, x, s; vs(len(d)) },
			sv: func(d []R, s T, y []T) { dst, k, b = d, s, y; sv(len(d)) },
			row: func(d []R, x, y []T, rows, cols int) {
				dst, a, b, width = d, x, y, cols
				row(rows, cols)
			},
			col: func(d []R, x, y []T, rows, cols int) {
				dst, a, b, width = d, x, y, cols
				col(rows, cols)
			},
		})
	}
}

// checkedDivision refuses a zero divisor, as TensorFlow does for integers.
func checkedDivision[T integer](f func(a, b T) T) compileFunc {
	compile := scalarBinary(f)
	return func(c *binding) (runFunc, error) {
		run, err := compile(c)
		if err != nil {
			return nil, err
		}
		divisor := c.in[1]
		return func() error {
			for i, d := range view[T](divisor) {
				if d == 0 {
					return fmt.Errorf("integer division by zero at element %d of the divisor", i)
				}
			}
			return run()
		}, nil
	}
}

func compileBinary[T, R tensor.Element](c *binding, f *vectors[T, R]) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	a, b, out := c.in[0], c.in[1], c.out[0]
	if err := errors.Join(checkTypes[T](a, b), checkTypes[R](out)); err != nil {
		return nil, err
	}
	w := &broadcast{}
	c.onBatch = func() error { return w.prepare(a.dims, b.dims, out.dims) }
	return func() error {
		each(w, f, view[R](out), view[T](a), view[T](b))
		return nil
	}, nil
}
