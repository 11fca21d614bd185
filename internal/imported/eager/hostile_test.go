package eager

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// endsSoon is a context that ends after its error has been checked a number of times.
type endsSoon struct {
	context.Context
	left int
}

func (e *endsSoon) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLongKernelsEnd: kernels that run long for large inputs end with their request.
func TestLongKernelsEnd(t *testing.T) {
	m := tensorOf([]float64{4, 1, 2, 1, 5, 3, 2, 3, 6}, 3, 3)
	for op, in := range map[string][]Value{
		"Cholesky": {{T: m}}, "MatrixInverse": {{T: m}}, "MatrixDeterminant": {{T: m}}, "LogMatrixDeterminant": {{T: m}}, "SelfAdjointEigV2": {{T: m}},
		"MatrixSolve": {{T: m}, {T: m}}, "MatrixTriangularSolve": {{T: m}, {T: m}},
		"EditDistance": {
			{T: tensorOf([]int64{0, 0, 0, 1}, 2, 2)}, {T: tensorOf([]int64{5, 6}, 2)}, {T: tensorOf([]int64{1, 2}, 2)},
			{T: tensorOf([]int64{0, 0, 0, 1}, 2, 2)}, {T: tensorOf([]int64{5, 7}, 2)}, {T: tensorOf([]int64{1, 2}, 2)},
		},
	} {
		n := &graph.Node{Name: "n", Op: op}
		if _, err := Run(t.Context(), n, in, nil); err != nil {
			t.Errorf("%s: %v", op, err)
		}
		if _, err := Run(&endsSoon{t.Context(), 1}, n, in, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: expected that it ends with its context, got %v", op, err)
		}
	}
}

// asked is a context that counts the checks whether it has ended.
type asked struct {
	context.Context
	times int
}

func (a *asked) Err() error {
	a.times++
	return nil
}

// TestCubicKernelsAsk: kernels of cubic complexity check their context at least once per row, in
// each of their parts.
func TestCubicKernelsAsk(t *testing.T) {
	const n = 48
	tall, m, pairs := tensor.New(tensor.Float64, n, 1), tensor.New(tensor.Float64, n, n), tensor.New(tensor.Complex128, n, n)
	for i := range n {
		tensor.Values[float64](tall)[i] = 1
		for j := range n {
			v := 1 / float64(i+j+1) // the Hilbert matrix, with a larger diagonal
			if i == j {
				v++
			}
			tensor.Values[float64](m)[i*n+j], tensor.Values[complex128](pairs)[i*n+j] = v, complex(v, 1/float64(2*i+j+1))
		}
	}
	l2 := Value{T: tensor.Scalar(0.0)}
	for _, c := range []struct {
		name, op string
		attrs    graph.Attrs
		in       []Value
		least    int
	}{
		{"vectors of what is not there", "Svd", graph.Attrs{"full_matrices": true}, []Value{{T: tall}}, n},
		{"vectors of zeros", "Svd", nil, []Value{{T: tensor.New(tensor.Float64, n, n)}}, 2 * n}, // one sweep, and the vectors
		{"singular values", "Svd", nil, []Value{{T: m}}, 3 * n},
		{"eigenvalues", "Eig", graph.Attrs{"compute_v": false, "Tout": tensor.Complex128}, []Value{{T: m}}, n + 10},
		{"eigenvectors", "Eig", graph.Attrs{"Tout": tensor.Complex128}, []Value{{T: m}}, 2*n + 10},
		{"a square root", "MatrixSquareRoot", nil, []Value{{T: m}}, 5 * n},         // Hessenberg form, QR, the root, two products
		{"a logarithm", "MatrixLogarithm", nil, []Value{{T: pairs}}, (5 + 12) * n}, // and the series
		{"reflections", "Qr", nil, []Value{{T: m}}, 2 * n},
		{"the shortest solution", "MatrixSolveLs", graph.Attrs{"fast": false}, []Value{{T: m}, {T: tall}, l2}, 3 * n},
		{"symmetric eigenvalues", "SelfAdjointEigV2", nil, []Value{{T: m}}, 2 * n},
		{"pivots", "Lu", nil, []Value{{T: m}}, n},
	} {
		ctx := &asked{Context: t.Context()}
		if _, err := Run(ctx, &graph.Node{Name: "n", Op: c.op, Attrs: c.attrs}, c.in, nil); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if ctx.times < c.least {
			t.Errorf("%s: asked %d times, expected at least %d", c.name, ctx.times, c.least)
		}
	}
}

// TestOddNumbers: infinite ranges have bins, and samplers end even if no number fits their parameters and type.
func TestOddNumbers(t *testing.T) {
	s := newSession(t)
	inf := math.Inf(1)
	for _, limits := range [][]float64{{-math.MaxFloat64, math.MaxFloat64}, {0, inf}, {-inf, inf}, {-inf, 0}} {
		out := s.run("HistogramFixedWidth", nil, tensorOf([]float64{-inf, -1, 0, 1, inf}, 5), tensorOf(limits, 2), tensor.Scalar(int32(3)))
		if n := tensor.Values[int32](out.T); n[0]+n[1]+n[2] != 5 {
			t.Errorf("bins of %v: got %v, expected that they count 5 values", limits, n)
		}
	}
	out := s.run("RandomGamma", graph.Attrs{"S": tensor.Int32, "T": tensor.Float64}, tensorOf([]int32{1}, 1), tensorOf([]float64{math.NaN(), -1, -inf}, 3))
	for _, v := range tensor.Values[float64](out.T) {
		if v == v {
			t.Errorf("gamma of no shape: got %v, expected NaN", v)
		}
	}
	s.refuse("not supported", "RandomPoissonV2", graph.Attrs{"S": tensor.Int32, "R": tensor.Float64, "dtype": tensor.Int16}, tensorOf([]int32{1}, 1), tensorOf([]float64{1}, 1))
}
