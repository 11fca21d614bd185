package kernels

// RandomInt is the integer types that TensorFlow draws.
type RandomInt interface {
	int32 | int64 | uint32 | uint64
}

// UniformInts fills dst with integers in [lo, hi): RandomUniformInt. If hi-lo is no power of two, small ones are a little likelier.
func UniformInts[T RandomInt](dst []T, r Rand, lo, hi T) {
	span := uint64(hi) - uint64(lo)
	if wordsOf[T]() == 1 {
		span = uint64(uint32(span))
	}
	fillInts(dst, r, func(v uint64) T { return lo + T(v%span) })
}

// Ints fills dst with integers of the full range: StatelessRandomUniformFullIntV2.
func Ints[T RandomInt](dst []T, r Rand) { fillInts(dst, r, func(v uint64) T { return T(v) }) }

// UniformBits fills dst with multiples of 2^-bits in [0, 1), as TensorFlow does for floats with that many bits: 10 for half, 7 for
// bfloat16.
func UniformBits(dst []float32, r Rand, bits int) {
	words := r.Words()
	for i := range dst {
		dst[i] = float32(words.Next()&(1<<bits-1)) / float32(int(1)<<bits)
	}
}

// wordsOf returns the number of words of an integer.
func wordsOf[T RandomInt]() int {
	if T(1)<<31<<1 == 0 {
		return 1
	}
	return 2
}

func fillInts[T RandomInt](dst []T, r Rand, f func(uint64) T) {
	words, wide := r.Words(), wordsOf[T]() == 2
	for i := range dst {
		v := uint64(words.Next())
		if wide {
			v |= uint64(words.Next()) << 32
		}
		dst[i] = f(v)
	}
}
