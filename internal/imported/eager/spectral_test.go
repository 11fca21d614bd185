package eager

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestEigenvectors: a matrix times each eigenvector is the eigenvalue times it; eigenvectors have length 1; eigenvalues sum to the trace.
func TestEigenvectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 3, 8, 40} {
		for _, real := range []bool{false, true} {
			a := make([]complex128, n*n)
			for i := range a {
				a[i] = complex(rng.NormFloat64(), rng.NormFloat64())
				if real {
					a[i] = complex(rng.NormFloat64(), 0)
				}
			}
			checkEigen(t, a, n)
		}
	}
	checkEigen(t, []complex128{0, 1, 0, 0, 0, 1, 1, 0, 0}, 3)  // a permutation: all eigenvalues have the same size
	checkEigen(t, []complex128{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3)  // equal eigenvalues
	checkEigen(t, []complex128{0, 1, -1, 0}, 2)                // a rotation
	checkEigen(t, []complex128{1e200, 2e200, 3e200, 4e200}, 2) // squares overflow
	checkEigen(t, []complex128{1e-200, 2e-200i, 3e-200, 4e-200}, 2)
	checkEigen(t, []complex128{1e300, 0, 0, 1e-300}, 2)
	checkEigen(t, []complex128{1e-150, 2e-150, 3e-150, 4e-8}, 2) // very different sizes
	for _, n := range []int{24, 100} {
		jordan := make([]complex128, n*n) // one eigenvalue, and one eigenvector
		for i := range n {
			jordan[i*n+i] = 1
			if i+1 < n {
				jordan[i*n+i+1] = 1
			}
		}
		checkEigen(t, jordan, n)
	}
}

// checkEigen decomposes a matrix in all types that can hold it.
func checkEigen(t *testing.T, a []complex128, n int) {
	t.Helper()
	single, real64, real32 := make([]complex64, n*n), make([]float64, n*n), make([]float32, n*n)
	isReal, small := true, true
	for i, v := range a {
		single[i], real64[i], real32[i] = complex64(v), real(v), float32(real(v))
		isReal = isReal && imag(v) == 0
		small = small && (v == 0 || cmplx.Abs(v) > 1e-30 && cmplx.Abs(v) < 1e30)
	}
	checkEigenOf(t, tensorOf(a, n, n), a)
	if small {
		checkEigenOf(t, tensorOf(single, n, n), a)
	}
	if isReal {
		checkEigenOf(t, tensorOf(real64, n, n), a)
	}
	if isReal && small {
		checkEigenOf(t, tensorOf(real32, n, n), a)
	}
}

func checkEigenOf(t *testing.T, x *tensor.Tensor, a []complex128) {
	t.Helper()
	n, eps := x.Shape[0], 1e-12
	if x.DType == tensor.Float32 || x.DType == tensor.Complex64 {
		eps = 1e-6
	}
	out, err := Run(t.Context(), &graph.Node{Name: "eig", Op: "Eig", Attrs: graph.Attrs{"compute_v": true, "Tout": tensor.Complex128}}, []Value{{T: x}}, nil)
	if err != nil {
		t.Error(err)
		return
	}
	size, trace, sum := 0.0, complex128(0), complex128(0)
	values, v := tensor.Values[complex128](out[0].T), tensor.Values[complex128](out[1].T)
	for i, y := range a {
		size = max(size, cmplx.Abs(y))
		if i%(n+1) == 0 {
			trace += y
		}
	}
	for k := range n {
		sum += values[k]
		length := 0.0
		for i := range n {
			product := complex128(0)
			for j := range n {
				product += a[i*n+j] * v[j*n+k]
			}
			if far := cmplx.Abs(product - values[k]*v[i*n+k]); !(far <= eps*size*float64(n)) {
				t.Errorf("%v %d rows, vector %d: off by %v of %v", x.DType, n, k, far, size)
			}
			length += real(v[i*n+k] * cmplx.Conj(v[i*n+k]))
		}
		if !(length > 1-1e-12 && length < 1+1e-12) {
			t.Errorf("%d rows, vector %d: length %v", n, k, length)
		}
	}
	if !(cmplx.Abs(sum-trace) <= eps*size*float64(n)) {
		t.Errorf("%d rows: the values' sum is %v, the trace %v", n, sum, trace)
	}
}

// TestComplexParts: a Hermitian matrix is v·diag(e)·vᴴ, and any matrix u·diag(s)·vᴴ, with orthonormal vectors.
func TestComplexParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {7, 7}, {20, 20}, {6, 3}, {3, 6}} {
		m, n := shape[0], shape[1]
		a := make([]complex128, m*n)
		for i := range a {
			a[i] = complex(rng.NormFloat64(), rng.NormFloat64())
		}
		for _, full := range []bool{false, true} {
			out, err := Run(t.Context(), &graph.Node{Name: "svd", Op: "Svd", Attrs: graph.Attrs{"compute_uv": true, "full_matrices": full}}, []Value{{T: tensorOf(a, m, n)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkParts(t, "Svd", a, n, tensor.Values[complex128](out[0].T), out[1].T, out[2].T)
		}
		if m != n {
			continue
		}
		for i := range m {
			for j := range i {
				a[j*n+i] = cmplx.Conj(a[i*n+j])
			}
			a[i*n+i] = complex(real(a[i*n+i]), 0)
		}
		out, err := Run(t.Context(), &graph.Node{Name: "eigh", Op: "SelfAdjointEigV2", Attrs: graph.Attrs{"compute_v": true}}, []Value{{T: tensorOf(a, n, n)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, "SelfAdjointEigV2", a, n, tensor.Values[complex128](out[0].T), out[1].T, out[1].T)
	}
}

// checkParts compares left·diag(values)·rightᴴ with a matrix of n columns.
func checkParts(t *testing.T, op string, a []complex128, n int, values []complex128, left, right *tensor.Tensor) {
	t.Helper()
	u, v := tensor.Values[complex128](left), tensor.Values[complex128](right)
	p, q := left.Shape[1], right.Shape[1]
	for i := range len(a) / n {
		for j := range n {
			sum := complex128(0)
			for k, x := range values {
				sum += u[i*p+k] * x * cmplx.Conj(v[j*q+k])
			}
			if cmplx.Abs(sum-a[i*n+j]) > 1e-12*float64(n) {
				t.Errorf("%s: element %d, %d of %d columns is %v, expected %v", op, i, j, n, sum, a[i*n+j])
			}
		}
	}
	for _, m := range []*tensor.Tensor{left, right} {
		x, w := tensor.Values[complex128](m), m.Shape[1]
		for a := range w {
			for b := range w {
				sum := complex128(0)
				for i := range m.Shape[0] {
					sum += cmplx.Conj(x[i*w+a]) * x[i*w+b]
				}
				if a == b {
					sum--
				}
				if cmplx.Abs(sum) > 1e-12*float64(w) {
					t.Errorf("%s: the product of vectors %d and %d is off by %v", op, a, b, sum)
				}
			}
		}
	}
}
