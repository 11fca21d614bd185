package fourier

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// TestForward compares Forward, for all kinds of lengths, with the sum that defines the transform, and Inverse with the input.
func TestForward(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 97, 100, 128, 257} {
		w := NewPlan(n).Worker()
		for range 2 { // scratch is used again
			x := make([]complex128, n)
			for k := range x {
				x[k] = complex(r.NormFloat64(), r.NormFloat64())
			}
			got := append([]complex128(nil), x...)
			w.Forward(got)
			for k := range got {
				var want complex128
				for j, v := range x {
					want += v * root(j*k%n, n)
				}
				if cmplx.Abs(got[k]-want) > 1e-11*float64(n) {
					t.Fatalf("length %d, element %d: got %v, expected %v", n, k, got[k], want)
				}
			}
			w.Inverse(got)
			for k := range got {
				if cmplx.Abs(got[k]-x[k]) > 1e-12*float64(n) {
					t.Fatalf("length %d, element %d: got %v back, expected %v", n, k, got[k], x[k])
				}
			}
		}
	}
}

func BenchmarkForward(b *testing.B) {
	for _, n := range []int{1024, 1000, 1021} {
		w, x := NewPlan(n).Worker(), make([]complex128, n)
		x[1] = 1
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				w.Forward(x)
				w.Inverse(x)
			}
		})
	}
}
