package inputs

import "math/bits"

// mix hashes words into one: the finaliser of SplitMix64 (Steele, Lea, Flood
// 2014) after each word.
func mix(words ...uint64) uint64 {
	var h uint64
	for _, w := range words {
		h = splitmix(h ^ w)
	}
	return h
}

func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rng is the SplitMix64 generator; the value is its whole state.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// intn returns a number in [0, n), without bias (Lemire 2019).
func (r *rng) intn(n int) int {
	un := uint64(n)
	hi, lo := bits.Mul64(r.next(), un)
	if lo < un {
		for reject := -un % un; lo < reject; {
			hi, lo = bits.Mul64(r.next(), un)
		}
	}
	return int(hi)
}

// float returns a number in [0, 1).
func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }
