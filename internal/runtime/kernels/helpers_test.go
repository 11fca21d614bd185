package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/goestimator/goestimator/internal/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(WorkerFunction))
}

// eachLevel runs f at every level of this CPU. In short runs, as with the race detector, it uses only the best level.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	first := Portable
	if testing.Short() {
		first = BestLevel()
	}
	for l := first; l <= BestLevel(); l++ {
		t.Run(l.String(), func(t *testing.T) {
			SetLevel(l)
			defer SetLevel(BestLevel())
			f(t)
		})
	}
}

// vector returns n numbers in [-1, 1) that start at an odd address, so that nothing is aligned.
func vector[T Float](r *rand.Rand, n int) []T {
	x := make([]T, n+1)
	for i := range x {
		x[i] = T(2*r.Float64() - 1)
	}
	return x[1:]
}

func positive[T Float](r *rand.Rand, n int) []T {
	x := vector[T](r, n)
	for i := range x {
		x[i] = abs(x[i]) + 0.01
	}
	return x
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// tolerance returns the expected relative error of n rounded additions.
func tolerance[T Float](n int) float64 {
	eps := 2.3e-16
	if is32[T]() {
		eps = 1.2e-7
	}
	return eps * (8 + 2*math.Sqrt(float64(n)))
}

// requireClose fails if got differs from want by more than tol*(scale+|want|). NaN equals only NaN.
func requireClose[T Float](t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got []T, want []float64, tol, scale float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i])
		if !testkit.Near(g, w, tol*(scale+math.Abs(w))) {
			t.Fatalf("%s: element %d of %d: got %v, want %v (relative tolerance %g)", what, i, len(want), g, w, tol)
		}
	}
}

func requireBits[T Float](t *testing.T, what string, a, b []T) {
	t.Helper()
	for i := range a {
		if floatBits(a[i]) != floatBits(b[i]) {
			t.Fatalf("%s: element %d: %v and %v differ", what, i, a[i], b[i])
		}
	}
}

func widen[T Float](x []T) []float64 {
	w := make([]float64, len(x))
	for i, v := range x {
		w[i] = float64(v)
	}
	return w
}

func requireNoAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	f()
	if n := testing.AllocsPerRun(20, f); n != 0 {
		t.Errorf("%s: %v allocations per call, want none", what, n)
	}
}

func typeName[T Float]() string { return fmt.Sprintf("%T", T(0)) }
