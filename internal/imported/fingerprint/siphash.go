package fingerprint

import (
	"encoding/binary"
	"math/bits"
)

// Sip64 is SipHash-2-4 (Aumasson, Bernstein, 2012), the keyed hash that Keras'
// Hashing uses with a salt.
func Sip64(key [2]uint64, s []byte) uint64 {
	v0, v1 := key[0]^0x736f6d6570736575, key[1]^0x646f72616e646f6d
	v2, v3 := key[0]^0x6c7967656e657261, key[1]^0x7465646279746573
	round := func() {
		v0 += v1
		v1 = bits.RotateLeft64(v1, 13) ^ v0
		v0 = bits.RotateLeft64(v0, 32)
		v2 += v3
		v3 = bits.RotateLeft64(v3, 16) ^ v2
		v0 += v3
		v3 = bits.RotateLeft64(v3, 21) ^ v0
		v2 += v1
		v1 = bits.RotateLeft64(v1, 17) ^ v2
		v2 = bits.RotateLeft64(v2, 32)
	}
	absorb := func(m uint64) {
		v3 ^= m
		round()
		round()
		v0 ^= m
	}
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		absorb(binary.LittleEndian.Uint64(s))
	}
	for i, b := range s {
		last |= uint64(b) << (8 * i)
	}
	absorb(last)
	v2 ^= 0xff
	for range 4 {
		round()
	}
	return v0 ^ v1 ^ v2 ^ v3
}
