package eager

import (
	"errors"
	"fmt"
	"math/cmplx"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// spectralOps are functions of the eigenvalues of square matrices [..., n, n], computed in complex128.
var spectralOps = map[*ops.Def]maker{
	ops.Eig:              generalEigen,
	ops.MatrixSquareRoot: spectral(schur.squareRoot),
	ops.MatrixLogarithm:  spectral(schur.logarithm),
}

var errNoSchur = errors.New("Eigen decomposition was not successful. The input might not be valid.")

// eachMatrix calls f for each square matrix of input 0 in turn. It first pays for ten scratch matrices with 16 bytes per element.
func eachMatrix[T inexactNumber](c call, f func(i, n int, m []T) error) error {
	t := c.t(0)
	r := len(t.Shape) - 2
	if r < 0 || t.Shape[r] != t.Shape[r+1] {
		return fmt.Errorf("Input matrix must be square: got shape %s", shapeText(t.Shape))
	}
	n := t.Shape[r]
	if err := c.room(10*n*n, 16); err != nil {
		return err
	}
	src := tensor.Values[T](t)
	for i := range product(t.Shape[:r]) {
		err := f(i, n, src[i*n*n:(i+1)*n*n])
		if ended := c.ctx.Err(); ended != nil {
			return ended
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether the request has ended.
func (c call) ended() bool { return c.ctx.Err() != nil }

// eachComplex decomposes each matrix of input 0 in turn, and calls f with the result; ok is false if it failed.
func eachComplex[T inexactNumber](c call, f func(i int, s schur, ok bool) error) error {
	return eachMatrix(c, func(i, n int, src []T) error {
		s, ok := schurOf(widen[complex128](src), n, c.ended)
		if c.ended() {
			return nil
		}
		return f(i, s, ok)
	})
}

// eigenForm says what Eig returns.
type eigenForm struct {
	vectors bool
	dtype   tensor.DType
}

// generalEigen finds eigenvalues and, if requested, eigenvectors of length 1. Their order is TensorFlow's: for complex matrices the smallest
// come first, for real ones it follows from the method. The phases of a complex matrix's eigenvectors are not determined.
func generalEigen(s *site) (kernel, error) {
	f := eigenForm{vectors: s.boolean("compute_v", true), dtype: s.dtype("Tout", tensor.Complex64)}
	return inexact(eigenOf(f, eigenOfReal[float32]), eigenOf(f, eigenOfReal[float64]), eigenOf(f, eigenOfComplex[complex64]), eigenOf(f, eigenOfComplex[complex128])), nil
}

// eigenSystem finds the eigenvalues of a matrix and, if requested, its eigenvectors as columns; ok is false if it fails.
type eigenSystem[T inexactNumber] func(m []T, n int, vectors bool, ended func() bool) (values, v []complex128, ok bool)

func eigenOfReal[T float](m []T, n int, vectors bool, ended func() bool) (values, v []complex128, ok bool) {
	s, ok := realSchurOf(slices.Clone(m), n, ended)
	if !ok {
		return nil, nil, false
	}
	values = s.values()
	if vectors {
		v = s.vectors(values)
	}
	for i := range values {
		values[i] *= complex(float64(s.scale), 0)
	}
	return values, v, true
}

func eigenOfComplex[T complexNumber](m []T, n int, vectors bool, ended func() bool) (values, v []complex128, ok bool) {
	s, ok := schurOf(widen[complex128](m), n, ended)
	if !ok {
		return nil, nil, false
	}
	values = make([]complex128, n)
	order := s.sizes()
	for k, from := range order {
		values[k] = s.t[from*n+from]
	}
	if vectors {
		v = make([]complex128, n*n)
		all := s.vectors()
		for k := range v {
			v[k] = all[k-k%n+order[k%n]]
		}
	}
	return values, v, true
}

func eigenOf[T inexactNumber](f eigenForm, find eigenSystem[T]) kernel {
	return func(c call) error {
		shape := c.t(0).Shape
		values, err := c.output(0, f.dtype, shape[:max(len(shape)-1, 0)]...)
		if err != nil {
			return err
		}
		var right []int
		if f.vectors {
			right = shape
		}
		v, err := c.output(1, f.dtype, right...)
		if err != nil {
			return err
		}
		return eachMatrix(c, func(i, n int, m []T) error {
			found, columns, ok := find(m, n, f.vectors, c.ended)
			if !ok {
				return errNoSchur
			}
			for k, x := range found {
				setComplex(values, i*n+k, x)
			}
			for k, x := range columns {
				setComplex(v, i*n*n+k, x)
			}
			return nil
		})
	}
}

func setComplex(t *tensor.Tensor, i int, v complex128) {
	if t.DType == tensor.Complex64 {
		tensor.Values[complex64](t)[i] = complex64(v)
		return
	}
	tensor.Values[complex128](t)[i] = v
}

// spectral returns a maker for a function of upper triangular matrices. If the function is undefined, the result is NaN.
func spectral(f func(s schur) (m []complex128, ok bool)) maker {
	ofReal := func(s schur) ([]complex128, bool) {
		if s.negative() {
			return nil, false
		}
		return f(s)
	}
	return plain(inexact(functionOf[float32](ofReal), functionOf[float64](ofReal), functionOf[complex64](f), functionOf[complex128](f)))
}

func functionOf[T inexactNumber](f func(s schur) ([]complex128, bool)) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		return eachComplex[T](c, func(i int, s schur, ok bool) error {
			var m []complex128
			if ok {
				m, ok = f(s)
			}
			out := dst[i*s.n*s.n : (i+1)*s.n*s.n]
			if !ok {
				m = slices.Repeat([]complex128{cmplx.NaN()}, len(out))
			} else {
				m = s.back(m)
			}
			narrowTo(out, m)
			return nil
		})
	}
}

// squareRoot returns the principal square root of an upper triangular matrix (Björck and Hammarling, 1983).
func (s schur) squareRoot() (r []complex128, ok bool) {
	n := s.n
	r = make([]complex128, n*n)
	for j := 0; j < n && !s.ended(); j++ {
		r[j*n+j] = cmplx.Sqrt(s.t[j*n+j])
		for i := j - 1; i >= 0; i-- {
			sum := s.t[i*n+j]
			for k := i + 1; k < j; k++ {
				sum -= r[i*n+k] * r[k*n+j]
			}
			if sum != 0 {
				r[i*n+j] = sum / (r[i*n+i] + r[j*n+j])
			}
		}
	}
	return r, true
}

// roots bounds the number of square roots taken of a matrix before the series of its logarithm.
const roots = 60

// near1 is the maximum distance from the unit matrix for the series.
const near1 = 0.1

// logarithm returns the principal logarithm of an upper triangular matrix: by repeated square roots until it is near 1, and then the series
// 2·Σ z^(2k+1)/(2k+1) with z = (t-1)/(t+1) (Higham, Functions of Matrices, 11.5). A matrix with the eigenvalue 0 has none.
func (s schur) logarithm() (sum []complex128, ok bool) {
	n, scale := s.n, complex128(1)
	for i := range n {
		if s.t[i*n+i] == 0 {
			return nil, false
		}
	}
	for range roots {
		if s.fromOne() < near1 || s.ended() {
			break
		}
		s.t, _ = s.squareRoot()
		scale *= 2
	}
	if !(s.fromOne() < near1) {
		return nil, false
	}
	above, below := make([]complex128, n*n), make([]complex128, n*n)
	copy(above, s.t)
	copy(below, s.t)
	for i := range n {
		above[i*n+i]--
		below[i*n+i]++
	}
	z := s.overTriangle(above, below)
	power, sum := z, make([]complex128, n*n)
	square := s.times(z, z)
	for k := range 8 {
		for i, v := range power {
			sum[i] += v / complex(float64(2*k+1), 0)
		}
		power = s.times(power, square)
	}
	for i := range sum {
		sum[i] *= 2 * scale
	}
	return sum, true
}

// fromOne returns an upper bound of an upper triangular matrix's distance from the unit matrix.
func (s schur) fromOne() (far float64) {
	for i := range s.n {
		for j := i; j < s.n; j++ {
			v := s.t[i*s.n+j]
			if i == j {
				v--
			}
			far = max(far, cmplx.Abs(v)*float64(s.n))
		}
	}
	return far
}

// overTriangle solves x·b = a for upper triangular matrices.
func (s schur) overTriangle(a, b []complex128) []complex128 {
	n := s.n
	x := make([]complex128, n*n)
	for i := 0; i < n && !s.ended(); i++ {
		for j := i; j < n; j++ {
			sum := a[i*n+j]
			for k := i; k < j; k++ {
				sum -= x[i*n+k] * b[k*n+j]
			}
			x[i*n+j] = sum / b[j*n+j]
		}
	}
	return x
}
