package tensor

import "math"

// Float16Bits returns the bits of the IEEE 754 binary16 nearest to v, ties to even. 65520 and more become infinite; NaN stays NaN.
func Float16Bits(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // 65520 and more round to infinity
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: in units of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-112<<23)>>13)
}

// Float16FromBits returns the value of a binary16. A signaling NaN becomes a quiet one, as with CPU instructions.
func Float16FromBits(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		if frac != 0 {
			frac |= 0x200
		}
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// BFloat16Bits returns the bits of the bfloat16 nearest to v, ties to even. NaN stays NaN.
func BFloat16Bits(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BFloat16FromBits returns the value of a bfloat16.
func BFloat16FromBits(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
