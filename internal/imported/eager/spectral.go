package eager

import (
	"errors"
	"fmt"
	"math/cmplx"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// spectralOps are functions of the eigenvalues of square matrices [..., n, n], computed in complex128.
var spectralOps = map[*ops.Def]maker{
	ops.Eig:              generalEigen,
	ops.MatrixSquareRoot: spectral(squareRoot),
	ops.MatrixLogarithm:  spectral(logarithm),
}

var errNoSchur = errors.New("Eigen decomposition was not successful. The input might not be valid.")

// eachComplex decomposes each matrix of input 0 in turn.
func eachComplex[T arithmetical](c call, wide func(T) complex128, f func(i int, s schur) error) error {
	t := c.t(0)
	r := len(t.Shape) - 2
	if r < 0 || t.Shape[r] != t.Shape[r+1] {
		return fmt.Errorf("Input matrix must be square: got shape %s", shapeText(t.Shape))
	}
	n := t.Shape[r]
	if err := c.room(6*n*n, 16); err != nil {
		return err
	}
	ended := func() bool { return c.ctx.Err() != nil }
	src := tensor.Values[T](t)
	for i := range product(t.Shape[:r]) {
		m := make([]complex128, n*n)
		for k, v := range src[i*n*n : (i+1)*n*n] {
			m[k] = wide(v)
		}
		s, ok := schurOf(m, n, ended)
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !ok {
			return errNoSchur
		}
		if err := f(i, s); err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

func real32(v float32) complex128     { return complex(float64(v), 0) }
func real64(v float64) complex128     { return complex(v, 0) }
func pair64(v complex64) complex128   { return complex128(v) }
func pair128(v complex128) complex128 { return v }

// generalEigen finds eigenvalues, in no order, and eigenvectors of length 1 where asked. Their phases are not determined.
func generalEigen(s *site) (kernel, error) {
	vectors, d := s.boolean("compute_v", true), s.dtype("Tout", tensor.Complex64)
	table := floats(eigenOf(real32, vectors, d), eigenOf(real64, vectors, d)).complexes(eigenOf(pair64, vectors, d), eigenOf(pair128, vectors, d))
	return table.on(0), nil
}

func eigenOf[T arithmetical](wide func(T) complex128, vectors bool, d tensor.DType) kernel {
	return func(c call) error {
		shape := c.t(0).Shape
		values, err := c.output(0, d, shape[:max(len(shape)-1, 0)]...)
		if err != nil {
			return err
		}
		right := []int{0}
		if vectors {
			right = shape
		}
		v, err := c.output(1, d, right...)
		if err != nil {
			return err
		}
		return eachComplex(c, wide, func(i int, s schur) error {
			for k := range s.n {
				setComplex(values, i*s.n+k, s.t[k*s.n+k])
			}
			if vectors {
				for k, x := range s.vectors() {
					setComplex(v, i*s.n*s.n+k, x)
				}
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

// spectral makes a maker of a function of upper triangular matrices.
func spectral(f func(s schur) []complex128) maker {
	return plain(floats(functionOf(real32, f, func(v complex128) float32 { return float32(real(v)) }), functionOf(real64, f, func(v complex128) float64 { return real(v) })).
		complexes(functionOf(pair64, f, func(v complex128) complex64 { return complex64(v) }), functionOf(pair128, f, pair128)).on(0))
}

func functionOf[T arithmetical](wide func(T) complex128, f func(s schur) []complex128, narrow func(complex128) T) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		return eachComplex(c, wide, func(i int, s schur) error {
			for k, v := range s.back(f(s)) {
				dst[i*s.n*s.n+k] = narrow(v)
			}
			return nil
		})
	}
}

// squareRoot is the principal square root of an upper triangular matrix (Björck and Hammarling, 1983).
func squareRoot(s schur) []complex128 {
	n := s.n
	r := make([]complex128, n*n)
	for j := range n {
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
	return r
}

// roots bounds how often a matrix has its square root taken before its logarithm is a short series.
const roots = 60

// logarithm is the principal logarithm of an upper triangular matrix: by repeated square roots, until it is near 1, and the series
// 2·Σ z^(2k+1)/(2k+1) of z = (t-1)/(t+1) (Higham, Functions of Matrices, 11.5).
func logarithm(s schur) []complex128 {
	n, scale := s.n, complex128(1)
	for range roots {
		if s.fromOne() < 0.1 {
			break
		}
		s.t, scale = squareRoot(s), 2*scale
	}
	above, below := make([]complex128, n*n), make([]complex128, n*n)
	copy(above, s.t)
	copy(below, s.t)
	for i := range n {
		above[i*n+i]--
		below[i*n+i]++
	}
	z := overTriangle(above, below, n)
	square, power, sum := make([]complex128, n*n), z, make([]complex128, n*n)
	p := product2{m: n, n: n, k: n}
	whole(p, square, z, z)
	for k := range 8 {
		next := make([]complex128, n*n)
		for i, v := range power {
			sum[i] += v / complex(float64(2*k+1), 0)
		}
		whole(p, next, power, square)
		power = next
	}
	for i := range sum {
		sum[i] *= 2 * scale
	}
	return sum
}

// fromOne returns how far an upper triangular matrix is from the unit matrix at most.
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
func overTriangle(a, b []complex128, n int) []complex128 {
	x := make([]complex128, n*n)
	for i := range n {
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
