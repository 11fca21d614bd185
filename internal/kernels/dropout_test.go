package kernels

import (
	"math"
	"testing"
)

func TestDropout(t *testing.T) {
	x, u := []float32{1, 2, 3, float32(math.Inf(1))}, []float32{0.1, 0.5, 0.49, 0.9}
	Dropout(x, x, u, 0.5, 2)
	requireClose(t, "dropout", x, []float64{2, 0, 6, 0}, 0, 0)
}

func TestAllFinite(t *testing.T) {
	x := make([]float32, 3*reduceBlock+1)
	if !AllFinite(x) || !AllFinite[float64](nil) {
		t.Error("zeros are not finite")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range []int{0, reduceBlock, len(x) - 1} {
			x[at] = float32(bad)
			if AllFinite(x) {
				t.Errorf("%v at %d is not noticed", bad, at)
			}
			x[at] = math.MaxFloat32
		}
	}
	requireNoAllocs(t, "AllFinite", func() { AllFinite(x) })
}
