package kernels

import (
	"math"
	"testing"
)

func testDropout[T Float](t *testing.T) {
	for n := range 100 {
		x, u := vector[T](newRand(1), n), make([]T, n)
		Uniform(u, Rand{Key: uint64(n)})
		want := make([]float64, n)
		for i, v := range x {
			if u[i] < 0.75 {
				want[i] = float64(v) * 1.5
			}
		}
		Dropout(u, x, u, 0.75, 1.5)
		requireClose(t, "dropout", u, want, tolerance[T](0), 0)
	}
}

func TestDropoutSizes(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testDropout[float32])
		t.Run("float64", testDropout[float64])
	})
}

func TestDropout(t *testing.T) {
	x, u := []float32{1, 2, 3, float32(math.Inf(1))}, []float32{0.1, 0.5, 0.49, 0.9}
	Dropout(x, x, u, 0.5, 2)
	requireClose(t, "dropout", x, []float64{2, 0, 6, 0}, 0, 0)
}
