package kernels

import (
	"math"
	"os"
	"testing"
	"unsafe"
)

// TestVectorNormalsAreExact runs the vector form of the Box-Muller transform over all words: all radii (at angle 0, whose
// cosine is 1) and all angles (at radius 1). Unless GOESTIMATOR_ACCEPT=1, it uses only every 61st.
func TestVectorNormalsAreExact(t *testing.T) {
	stride := uint32(61)
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		stride = 1
	}
	one := wordOfRadiusOne(t)
	eachLevel(t, func(t *testing.T) {
		const block = 4096
		x, words := make([]float32, 4*block), make([]uint32, 4*block)
		for first := uint32(0); first < 1<<23; first += block * stride {
			for i := range uint32(block) {
				w := (first + i*stride) | i<<23 // any bits above the 23
				copy(words[4*i:], []uint32{w, 0, one, w})
			}
			copy(x, unsafe.Slice((*float32)(unsafe.Pointer(&words[0])), len(words)))
			if !simdNormals(x) {
				t.Skip("no vector form at this level")
			}
			for i := 0; i < len(x); i += 2 {
				a, b := boxMuller32(words[i], words[i+1])
				if math.Float32bits(a) != math.Float32bits(x[i]) || math.Float32bits(b) != math.Float32bits(x[i+1]) {
					t.Fatalf("words %x: got %v, want %v %v", words[i:i+2], x[i:i+2], a, b)
				}
			}
		}
	})
}

func wordOfRadiusOne(t *testing.T) uint32 {
	middle := uint32(math.Exp(-0.5) * (1 << 23))
	for w := middle - 16; w < middle+16; w++ {
		if _, radius := boxMuller32(w, 0); radius == 1 {
			return w
		}
	}
	t.Fatal("no word gives radius 1")
	return 0
}
