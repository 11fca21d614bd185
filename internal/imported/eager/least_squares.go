package eager

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// leastSquares solves over- and underdetermined systems. With fast it solves the normal equations by Cholesky
// decomposition, with a regularizer; else it finds the shortest of the best solutions by singular values, without one.
func leastSquares(s *site) (kernel, error) {
	fast := s.boolean("fast", true)
	return floats(func(c call) error { return leastSquaresEach[float32](c, fast) }, func(c call) error { return leastSquaresEach[float64](c, fast) }).on(0), nil
}

// system is a system of equations: a [m,n] times x [n,k] is b [m,k].
type system struct {
	m, n, k int
	a, b    []float64
	l2      float64
	eps     float64 // singular values below eps times their number times the largest one count as 0
	ended   func() bool
}

func leastSquaresEach[T float](c call, fast bool) error {
	a, b, l2 := c.t(0), c.t(1), c.t(2)
	r := len(a.Shape) - 2
	if r < 0 || len(b.Shape) != r+2 || !slices.Equal(a.Shape[:r+1], b.Shape[:r+1]) || a.DType != b.DType {
		return fmt.Errorf("matrix %s and rhs %s: expected matrices of as many rows, of one type", shapeText(a.Shape), shapeText(b.Shape))
	}
	if l2.DType != tensor.Float64 || len(l2.Shape) != 0 {
		return fmt.Errorf("l2_regularizer: expected a float64 scalar, got %v of shape %v", l2.DType, l2.Shape)
	}
	q := system{m: a.Shape[r], n: a.Shape[r+1], k: b.Shape[r+1], eps: epsilon[T](), l2: tensor.Values[float64](l2)[0], ended: func() bool { return c.ctx.Err() != nil }}
	if !(q.l2 >= 0) {
		return fmt.Errorf("l2_regularizer must be >= 0.")
	}
	dst, err := outputOf[T](c, 0, slices.Concat(a.Shape[:r], []int{q.n, q.k})...)
	if err != nil {
		return err
	}
	side := max(q.m, q.n)
	if err := c.room(6*side*min(q.m, q.n)+4*side*q.k, 8); err != nil {
		return err
	}
	left, right := tensor.Values[T](a), tensor.Values[T](b)
	for i := range product(a.Shape[:r]) {
		q.a, q.b = widen[float64](left[i*q.m*q.n:(i+1)*q.m*q.n]), widen[float64](right[i*q.m*q.k:(i+1)*q.m*q.k])
		solve := q.shortest
		if fast {
			solve = q.normal
		}
		x, err := solve()
		if ctx := c.ctx.Err(); ctx != nil {
			return ctx
		}
		if err != nil {
			return err
		}
		narrowTo(dst[i*q.n*q.k:(i+1)*q.n*q.k], x)
	}
	return nil
}

// epsilon is the distance from 1 to the next larger number of a type.
func epsilon[T float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-23
	}
	return 0x1p-52
}

// normal solves (aᵀa + l2)x = aᵀb, or, if there are fewer equations than unknowns, x = aᵀ(aaᵀ + l2)⁻¹b.
func (q system) normal() ([]float64, error) {
	if q.m == 0 || q.n == 0 || q.k == 0 {
		return make([]float64, q.n*q.k), nil
	}
	at := flipped(q.a, q.m, q.n)
	if q.m >= q.n {
		return q.symmetric(timesMatrix(at, q.a, q.n, q.m, q.n), timesMatrix(at, q.b, q.n, q.m, q.k), q.n)
	}
	y, err := q.symmetric(timesMatrix(q.a, at, q.m, q.n, q.m), q.b, q.m)
	if err != nil {
		return nil, err
	}
	return timesMatrix(at, y, q.n, q.m, q.k), nil
}

// symmetric solves a system with a positive definite matrix of n rows, with the regularizer on its diagonal.
func (q system) symmetric(a, b []float64, n int) ([]float64, error) {
	m := kernels.Matrix[float64]{N: n, A: a, Ended: q.ended}
	for i := range n {
		*m.At(i, i) += q.l2
	}
	l, ok := kernels.Root(m)
	if !ok {
		return nil, fmt.Errorf("Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0.")
	}
	kernels.Substitute(l, b, q.k, true, false)
	kernels.Substitute(l.Adjoint(), b, q.k, false, false)
	return b, nil
}

// shortest returns the pseudoinverse of a, times b.
func (q system) shortest() ([]float64, error) {
	if q.m == 0 || q.n == 0 || q.k == 0 {
		return make([]float64, q.n*q.k), nil
	}
	r := min(q.m, q.n)
	least := q.eps * float64(r)
	d := decompose(q.a, singularForm{vectors: true, m: q.m, n: q.n}, q.ended)
	y := timesMatrix(flipped(d.left, q.m, r), q.b, r, q.m, q.k)
	for i, s := range d.values {
		for j := range q.k {
			if s > d.values[0]*least || s != s {
				y[i*q.k+j] /= s
			} else {
				y[i*q.k+j] = 0
			}
		}
	}
	return timesMatrix(d.right, y, q.n, r, q.k), nil
}

// flipped returns the transpose of a [m,n].
func flipped(a []float64, m, n int) []float64 {
	t := make([]float64, len(a))
	for i := range m {
		for j := range n {
			t[j*m+i] = a[i*n+j]
		}
	}
	return t
}

// timesMatrix returns a [m,k] times b [k,n].
func timesMatrix(a, b []float64, m, k, n int) []float64 {
	c := make([]float64, m*n)
	dense(product2{m: m, n: n, k: k}, c, a, b)
	return c
}

// luOf decomposes square matrices into L below and U from the diagonal on, and returns the permutation of the rows.
func luOf(s *site) (kernel, error) {
	d := s.dtype("output_idx_type", tensor.Int32)
	return inexact(luEach[float32, float64](d), luEach[float64, float64](d), luEach[complex64, complex128](d), luEach[complex128, complex128](d)), nil
}

func luEach[T inexactNumber, W kernels.Field](d tensor.DType) kernel {
	return func(c call) error {
		shape := c.t(0).Shape
		dst, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		lead := shape[:max(len(shape)-1, 0)]
		count, err := elements(lead)
		if err != nil {
			return err
		}
		if err := c.room(count, intBytes); err != nil {
			return err
		}
		rows := make([]int, count)
		err = eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
			f := kernels.LU(m)
			if f.Singular() {
				return kernels.ErrSingular
			}
			narrowTo(dst[i*len(f.A):(i+1)*len(f.A)], f.A)
			copy(rows[i*f.N:], f.Rows)
			return nil
		})
		if err != nil {
			return err
		}
		return c.outputInts(1, d, rows, lead...)
	}
}
