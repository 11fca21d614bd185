package splitmix

import "math/bits"

// gamma is the increment of the state in each step: the golden ratio in 64 bits.
const gamma = 0x9e3779b97f4a7c15

// Hash returns the next number of a Source with state x.
func Hash(x uint64) uint64 {
	x += gamma
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Mix hashes words, in order, into one.
func Mix(words ...uint64) uint64 {
	var h uint64
	for _, w := range words {
		h = Hash(h ^ w)
	}
	return h
}

// Source is a generator. Its value is its whole state.
type Source uint64

// Next returns 64 random bits.
func (s *Source) Next() uint64 {
	x := Hash(uint64(*s))
	*s += gamma
	return x
}

// Intn returns a number in [0, n) without bias (Lemire: "Fast random integer
// generation in an interval", 2019). n must be positive.
func (s *Source) Intn(n int) int {
	un := uint64(n)
	hi, lo := bits.Mul64(s.Next(), un)
	if lo < un {
		for reject := -un % un; lo < reject; {
			hi, lo = bits.Mul64(s.Next(), un)
		}
	}
	return int(hi)
}
