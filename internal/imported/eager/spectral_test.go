package eager

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestEigenvectors: a matrix times each eigenvector is the vector times its value, and vectors have length 1; the values' sum is the trace.
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
	checkEigen(t, []complex128{0, 1, 0, 0, 0, 1, 1, 0, 0}, 3)    // a permutation: all values of one size
	checkEigen(t, []complex128{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3)    // equal values
	checkEigen(t, []complex128{0, 1, -1, 0}, 2)                  // a turn
	checkEigen(t, []complex128{1e150, 2e150, 3e150, 4e150}, 2)   // squares overflow
	checkEigen(t, []complex128{1e-150, 2e-150, 3e-150, 4e-8}, 2) // of two sizes
}

func checkEigen(t *testing.T, a []complex128, n int) {
	t.Helper()
	x, err := tensor.FromSlice(a, n, n)
	if err != nil {
		t.Fatal(err)
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
			if far := cmplx.Abs(product - values[k]*v[i*n+k]); !(far <= 1e-12*size*float64(n)) {
				t.Errorf("%d rows, vector %d: off by %v of %v", n, k, far, size)
			}
			length += real(v[i*n+k] * cmplx.Conj(v[i*n+k]))
		}
		if !(length > 1-1e-12 && length < 1+1e-12) {
			t.Errorf("%d rows, vector %d: length %v", n, k, length)
		}
	}
	if !(cmplx.Abs(sum-trace) <= 1e-12*size*float64(n)) {
		t.Errorf("%d rows: the values' sum is %v, the trace %v", n, sum, trace)
	}
}
