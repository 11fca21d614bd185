package convert

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

func TestHalves(t *testing.T) {
	for _, c := range []struct{ x, brain, half float32 }{{1, 1, 1}, {1.00390625, 1, 1.00390625}, {1.01171875, 1.015625, 1.01171875}, {-3.1415927, -3.140625, -3.140625},
		{float32(math.Inf(1)), float32(math.Inf(1)), float32(math.Inf(1))}, {65520, 65536, float32(math.Inf(1))}, {1e-40, 1.01e-40, 0}} {
		if got := tensor.BFloat16FromBits(tensor.BFloat16Bits(c.x)); got != c.brain && math.Abs(float64(got-c.brain)) > 1e-41 {
			t.Errorf("%v: expected %v, got %v", c.x, c.brain, got)
		}
		if got := tensor.Float16FromBits(tensor.Float16Bits(c.x)); got != c.half {
			t.Errorf("%v: expected %v, got %v", c.x, c.half, got)
		}
	}
	nan := float32(math.NaN())
	if x, y := tensor.BFloat16FromBits(tensor.BFloat16Bits(nan)), tensor.Float16FromBits(tensor.Float16Bits(nan)); x == x || y == y {
		t.Errorf("NaN became %v and %v", x, y)
	}
}

// TestBetween converts every type into every other.
func TestBetween(t *testing.T) {
	numbers := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Bool}
	for _, from := range numbers {
		src := tensor.New(from, 3)
		floats, err := tensor.FromSlice([]float64{0, 1, 100.75}, 3)
		if err != nil {
			t.Fatal(err)
		}
		Between(tensor.Float64, from)(src.Bytes, floats.Bytes)
		want := []float64{0, 1, 100}
		switch from {
		case tensor.Float32, tensor.Float64:
			want[2] = 100.75
		case tensor.Bool:
			want[2] = 1
		}
		for _, to := range numbers {
			dst, want := tensor.New(to, 3), slices.Clone(want)
			Between(from, to)(dst.Bytes, src.Bytes)
			for i := range want {
				if to == tensor.Bool {
					want[i] = min(want[i], 1)
				} else if !to.Float() {
					want[i] = math.Trunc(want[i])
				}
				if got := dst.Float(i); got != want[i] {
					t.Errorf("%v to %v: got %v, expected %v", from, to, got, want[i])
				}
			}
		}
		if Between(from, tensor.String) != nil || Between(tensor.String, from) != nil || from != tensor.Float32 && Between(from, tensor.Float16) != nil {
			t.Errorf("%v: expected no conversion to text, nor to 16 bits but of float32", from)
		}
	}
}
