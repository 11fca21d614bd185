package ps

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// transfer is the type in which float32 values and gradients are sent: Float32
// (unchanged), BFloat16 or Float16. Values on the servers stay float32.
type transfer tensor.DType

// ParseTransfer returns the type for a name in config files: "float32" (or ""),
// "bfloat16" or "float16".
func ParseTransfer(name string) (tensor.DType, error) {
	switch name {
	case "", "float32":
		return tensor.Float32, nil
	case "bfloat16":
		return tensor.BFloat16, nil
	case "float16":
		return tensor.Float16, nil
	}
	return tensor.Invalid, fmt.Errorf("transfer type %q: expected float32, bfloat16 or float16", name)
}

// half reports whether values of a type are sent in two bytes.
func (m transfer) half(d tensor.DType) bool {
	return d == tensor.Float32 && tensor.DType(m) != tensor.Float32
}

// size returns the number of bytes on the wire for that many bytes of a type.
func (m transfer) size(d tensor.DType, bytes int) int {
	if m.half(d) {
		return bytes / 2
	}
	return bytes
}

// narrow writes float32 values in the two-byte type: len(dst) is half of len(src).
func (m transfer) narrow(dst, src []byte) {
	to := toBF16
	if tensor.DType(m) == tensor.Float16 {
		to = toF16
	}
	for i := 0; i+1 < len(dst); i += 2 {
		binary.LittleEndian.PutUint16(dst[i:], to(binary.LittleEndian.Uint32(src[2*i:])))
	}
}

// widen is the inverse of narrow, up to its rounding.
func (m transfer) widen(dst, src []byte) {
	from := fromBF16
	if tensor.DType(m) == tensor.Float16 {
		from = fromF16
	}
	for i := 0; i+1 < len(src); i += 2 {
		binary.LittleEndian.PutUint32(dst[2*i:], from(binary.LittleEndian.Uint16(src[i:])))
	}
}

// toBF16 rounds to the nearest, ties to even; NaN stays NaN.
func toBF16(b uint32) uint16 {
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func fromBF16(h uint16) uint32 { return uint32(h) << 16 }

// toF16 rounds to the nearest, ties to even; too large values become infinite.
func toF16(b uint32) uint16 {
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // 65520 and above
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: steps of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	return sign | uint16((b-0x38000000+0xfff+b>>13&1)>>13)
}

func fromF16(h uint16) uint32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0:
		return sign | math.Float32bits(float32(fraction)/(1<<24))
	case 31:
		return sign | 0x7f800000 | fraction<<13
	}
	return sign | (exponent+112)<<23 | fraction<<13
}
