package ps

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestHalves converts every two-byte number to float32 and back, and checks
// that numbers between two are rounded to the nearer one.
func TestHalves(t *testing.T) {
	for name, f := range map[string]struct {
		to   func(uint32) uint16
		from func(uint16) uint32
	}{"bfloat16": {toBF16, fromBF16}, "float16": {toF16, fromF16}} {
		for h := range 1 << 16 {
			x := math.Float32frombits(f.from(uint16(h)))
			back := f.to(math.Float32bits(x))
			if x != x {
				if y := math.Float32frombits(f.from(back)); y == y {
					t.Fatalf("%s: NaN %x becomes %x", name, h, back)
				}
				continue
			}
			if back != uint16(h) {
				t.Fatalf("%s: %x becomes %g, and %x", name, h, x, back)
			}
			next := math.Float32frombits(f.from(uint16(h + 1)))
			if h&0x7fff >= 0x7bff || next != next || math.IsInf(float64(next), 0) || math.IsInf(float64(x), 0) {
				continue
			}
			middle := (float64(x) + float64(next)) / 2
			if got := f.to(math.Float32bits(float32(x*0.75 + next*0.25))); got != uint16(h) {
				t.Fatalf("%s: a quarter above %x becomes %x", name, h, got)
			}
			if m := float32(middle); float64(m) == middle {
				if got := f.to(math.Float32bits(m)); got&1 != 0 {
					t.Fatalf("%s: the middle above %x becomes %x, expected the even one", name, h, got)
				}
			}
		}
	}
	for x, want := range map[float32]uint16{65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00, -1e9: 0xfc00, 1e-9: 0, 6e-8: 1, 0.99999: 0x3c00} {
		if got := toF16(math.Float32bits(x)); got != want {
			t.Errorf("%g becomes %x, expected %x", x, got, want)
		}
	}
}

// TestWidenInPlace widens values in the upper half of their memory.
func TestWidenInPlace(t *testing.T) {
	b := tensor.New(tensor.Float32, 9).Bytes
	want := make([]byte, len(b))
	for i := range 9 {
		binary.LittleEndian.PutUint32(want[4*i:], math.Float32bits(float32(i)-3.5))
	}
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		m := transfer(d)
		m.narrow(b[len(b)/2:], want)
		m.widen(b, b[len(b)/2:])
		if string(b) != string(want) {
			t.Errorf("%v: %x, expected %x", d, b, want)
		}
	}
	for name, want := range map[string]tensor.DType{"": tensor.Float32, "bfloat16": tensor.BFloat16, "float16": tensor.Float16} {
		if d, err := ParseTransfer(name); d != want || err != nil {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	if _, err := ParseTransfer("int8"); err == nil {
		t.Error("int8: expected an error")
	}
}
