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
	ops.MatrixSquareRoot: spectral(schur.squareRoot),
	ops.MatrixLogarithm:  spectral(schur.logarithm),
}

var errNoSchur = errors.New("Eigen decomposition was not successful. The input might not be valid.")

// eachComplex decomposes each matrix of input 0 in turn; f is told whether that could be done.
func eachComplex[T arithmetical](c call, wide func(T) complex128, f func(i int, s schur, ok bool) error) error {
	t := c.t(0)
	r := len(t.Shape) - 2
	if r < 0 || t.Shape[r] != t.Shape[r+1] {
		return fmt.Errorf("Input matrix must be square: got shape %s", shapeText(t.Shape))
	}
	n := t.Shape[r]
	if err := c.room(10*n*n, 16); err != nil {
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
		if err := f(i, s, ok); err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func real32(v float32) complex128     { return complex(float64(v), 0) }
func real64(v float64) complex128     { return complex(v, 0) }
func pair64(v complex64) complex128   { return complex128(v) }
func pair128(v complex128) complex128 { return v }

// eigenForm says what Eig makes.
type eigenForm struct {
	vectors, sorted bool
	dtype           tensor.DType
}

// generalEigen finds eigenvalues and eigenvectors of length 1 where asked. Of complex matrices the smallest are the first, as TensorFlow has
// them; the order of those of real matrices, and the phases of the vectors, are not determined.
func generalEigen(s *site) (kernel, error) {
	f := eigenForm{vectors: s.boolean("compute_v", true), dtype: s.dtype("Tout", tensor.Complex64)}
	sorted := f
	sorted.sorted = true
	table := floats(eigenOf(real32, f), eigenOf(real64, f)).complexes(eigenOf(pair64, sorted), eigenOf(pair128, sorted))
	return table.on(0), nil
}

func eigenOf[T arithmetical](wide func(T) complex128, f eigenForm) kernel {
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
		return eachComplex(c, wide, func(i int, s schur, ok bool) error {
			if !ok {
				return errNoSchur
			}
			order := s.order(f.sorted)
			for k, from := range order {
				setComplex(values, i*s.n+k, s.t[from*s.n+from])
			}
			if f.vectors {
				all := s.vectors()
				for k := range all {
					setComplex(v, i*s.n*s.n+k, all[k-k%s.n+order[k%s.n]])
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

// spectral makes a maker of a function of upper triangular matrices. Where it is not defined, the result is NaN.
func spectral(f func(s schur) (m []complex128, ok bool)) maker {
	ofReal := func(s schur) ([]complex128, bool) {
		if s.negative() {
			return nil, false
		}
		return f(s)
	}
	return plain(floats(functionOf(real32, ofReal, func(v complex128) float32 { return float32(real(v)) }), functionOf(real64, ofReal, func(v complex128) float64 { return real(v) })).
		complexes(functionOf(pair64, f, func(v complex128) complex64 { return complex64(v) }), functionOf(pair128, f, pair128)).on(0))
}

func functionOf[T arithmetical](wide func(T) complex128, f func(s schur) ([]complex128, bool), narrow func(complex128) T) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		return eachComplex(c, wide, func(i int, s schur, ok bool) error {
			var m []complex128
			if ok {
				m, ok = f(s)
			}
			out := dst[i*s.n*s.n : (i+1)*s.n*s.n]
			if !ok {
				for k := range out {
					out[k] = narrow(cmplx.NaN())
				}
				return nil
			}
			for k, v := range s.back(m) {
				out[k] = narrow(v)
			}
			return nil
		})
	}
}

// squareRoot is the principal square root of an upper triangular matrix (Björck and Hammarling, 1983).
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

// roots bounds how often a matrix has its square root taken before its logarithm is a short series.
const roots = 60

// near1 is how far a matrix may be from the unit matrix for the series.
const near1 = 0.1

// logarithm is the principal logarithm of an upper triangular matrix: by repeated square roots, until it is near 1, and the series
// 2·Σ z^(2k+1)/(2k+1) of z = (t-1)/(t+1) (Higham, Functions of Matrices, 11.5). A matrix with the eigenvalue 0 has none.
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
