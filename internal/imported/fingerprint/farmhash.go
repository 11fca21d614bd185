package fingerprint

import (
	"encoding/binary"
	"math/bits"
)

// The multipliers of FarmHash and of the chain of crosses.
const (
	k0     uint64 = 0xc3a5c85c97cb3127
	k1     uint64 = 0xb492b66fbe98f273
	k2     uint64 = 0x9ae16a3b2f90404f
	catMul uint64 = 0xc6a4a7935bd1e995
)

// Hash64 returns the fingerprint that TensorFlow hashes strings with:
// Hash64 of the namespace farmhashna of FarmHash (G. Pike, Google, 2014).
func Hash64(s []byte) uint64 {
	n := len(s)
	switch {
	case n <= 16:
		return farm16(s)
	case n <= 32:
		mul := k2 + uint64(n)*2
		a, b := word(s, 0)*k1, word(s, 8)
		c, d := word(s, n-8)*mul, word(s, n-16)*k2
		return mix(ror(a+b, 43)+ror(c, 30)+d, a+ror(b+k2, 18)+c, mul)
	case n <= 64:
		return farm64(s)
	}
	return farmLong(s)
}

// Cat64 chains fingerprint b to a: Murmur's step, as crosses use it
// (tsl/platform/fingerprint.h).
func Cat64(a, b uint64) uint64 {
	r := a ^ catMul
	r ^= shiftMix(b*catMul) * catMul
	r *= catMul
	r = shiftMix(r) * catMul
	return shiftMix(r)
}

func word(s []byte, i int) uint64 { return binary.LittleEndian.Uint64(s[i:]) }
func half(s []byte, i int) uint64 { return uint64(binary.LittleEndian.Uint32(s[i:])) }
func ror(x uint64, n int) uint64  { return bits.RotateLeft64(x, -n) }
func shiftMix(v uint64) uint64    { return v ^ v>>47 }
func mix(u, v, mul uint64) uint64 { a := shiftMix((u ^ v) * mul); return shiftMix((v^a)*mul) * mul }

func farm16(s []byte) uint64 {
	n := len(s)
	mul := k2 + uint64(n)*2
	switch {
	case n >= 8:
		a, b := word(s, 0)+k2, word(s, n-8)
		return mix(ror(b, 37)*mul+a, (ror(a, 25)+b)*mul, mul)
	case n >= 4:
		return mix(uint64(n)+half(s, 0)<<3, half(s, n-4), mul)
	case n > 0:
		y := uint64(uint32(s[0]) + uint32(s[n>>1])<<8)
		z := uint64(uint32(n) + uint32(s[n-1])<<2)
		return shiftMix(y*k2^z*k0) * k2
	}
	return k2
}

func farm64(s []byte) uint64 {
	n := len(s)
	mul := k2 + uint64(n)*2
	a, b := word(s, 0)*k2, word(s, 8)
	c, d := word(s, n-8)*mul, word(s, n-16)*k2
	y := ror(a+b, 43) + ror(c, 30) + d
	z := mix(y, a+ror(b+k2, 18)+c, mul)
	e, f := word(s, 16)*mul, word(s, 24)
	g, h := (y+word(s, n-32))*mul, (z+word(s, n-24))*mul
	return mix(ror(e+f, 43)+ror(g, 30)+h, e+ror(f+a, 18)+g, mul)
}

// weak32 hashes 32 bytes from s[i] with the seeds a and b.
func weak32(s []byte, i int, a, b uint64) (uint64, uint64) {
	w, x, y, z := word(s, i), word(s, i+8), word(s, i+16), word(s, i+24)
	a += w
	b = ror(b+a+z, 21)
	c := a
	a += x + y
	b += ror(a, 44)
	return a + z, b + c
}

func farmLong(s []byte) uint64 {
	const seed uint64 = 81
	n := len(s)
	x := seed
	y := x*k1 + 113 // wraps around, as it must
	z := shiftMix(y*k2+113) * k2
	var v0, v1, w0, w1 uint64
	x = x*k2 + word(s, 0)
	end := (n - 1) / 64 * 64
	for i := 0; i < end; i += 64 {
		x = ror(x+y+v0+word(s, i+8), 37) * k1
		y = ror(y+v1+word(s, i+48), 42) * k1
		x ^= w1
		y += v0 + word(s, i+40)
		z = ror(z+w0, 33) * k1
		v0, v1 = weak32(s, i, v1*k1, x+w0)
		w0, w1 = weak32(s, i+32, z+w1, y+word(s, i+16))
		z, x = x, z
	}
	mul := k1 + (z&0xff)<<1
	last := n - 64
	w0 += uint64((n - 1) & 63)
	v0 += w0
	w0 += v0
	x = ror(x+y+v0+word(s, last+8), 37) * mul
	y = ror(y+v1+word(s, last+48), 42) * mul
	x ^= w1 * 9
	y += v0*9 + word(s, last+40)
	z = ror(z+w0, 33) * mul
	v0, v1 = weak32(s, last, v1*mul, x+w0)
	w0, w1 = weak32(s, last+32, z+w1, y+word(s, last+16))
	z, x = x, z
	return mix(mix(v0, w0, mul)+shiftMix(y)*k0+z, mix(v1, w1, mul)+x, mul)
}
