package kernels

import (
	"math"
	"testing"
)

// TestCasts converts all lengths up to a few vectors, at odd addresses. int32 that are not exact in float32 are rounded.
func TestCasts(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := newRand(1)
		for n := range 70 {
			bytes := drawnBytes(r, n, n%2 == 0)
			small, wide := make([]int8, n), make([]int32, n+1)[1:]
			for i, v := range bytes {
				small[i], wide[i] = int8(v), int32(r.Uint32())
			}
			floats := make([]float32, n+1)[1:]
			FloatsOfUint8(floats, bytes)
			back := make([]uint8, n)
			BytesOfFloats(back, floats)
			requireInts(t, "uint8", back, bytes)
			for i, v := range bytes {
				if floats[i] != float32(v) {
					t.Fatalf("uint8 %d: got %v", v, floats[i])
				}
			}
			FloatsOfInt8(floats, small)
			signed := make([]int8, n)
			BytesOfFloats(signed, floats)
			requireInts(t, "int8", signed, small)
			for i, v := range small {
				if floats[i] != float32(v) {
					t.Fatalf("int8 %d: got %v", v, floats[i])
				}
				floats[i] += 0.75 * sign(floats[i])
			}
			BytesOfFloats(signed, floats)
			requireInts(t, "fractions are cut off", signed, small)
			FloatsOfInt32(floats, wide)
			for i, v := range wide {
				if floats[i] != float32(v) {
					t.Fatalf("int32 %d: got %v", v, floats[i])
				}
			}
		}
		floats := make([]float32, 33)
		FloatsOfInt32(floats, []int32{32: math.MinInt32})
		if floats[32] != math.MinInt32 {
			t.Errorf("the least int32: got %v", floats[32])
		}
	})
}
