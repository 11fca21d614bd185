package sampling

import (
	"cmp"
	"math"
	"slices"
)

// Sampler says how a token is drawn.
type Sampler struct {
	Temperature float32 // of the softmax; the most likely token if not above 0
	TopK        int     // how many of the most likely tokens may be drawn, plus ties with the last; all if below 1
	Seed        int64
}

// Draw returns the token at a position of a text.
func (s Sampler) Draw(logits []float32, position int64) int {
	top := 0
	for i, v := range logits {
		if v > logits[top] {
			top = i
		}
	}
	if !(s.Temperature > 0) || len(logits) == 0 {
		return top
	}
	least := s.least(logits)
	sums, sum := make([]float32, len(logits)), float32(0)
	for i, v := range logits {
		if v >= least {
			sum += float32(math.Exp(float64((v - logits[top]) / s.Temperature)))
		}
		sums[i] = sum
	}
	at, _ := slices.BinarySearchFunc(sums, Uniform(s.Seed, position)*sum, func(have, want float32) int {
		if have <= want {
			return -1
		}
		return 1
	})
	return min(at, len(logits)-1)
}

// least is the smallest logit that may be drawn.
func (s Sampler) least(logits []float32) float32 {
	sorted := slices.Clone(logits)
	slices.SortFunc(sorted, func(a, b float32) int { return cmp.Compare(b, a) })
	if s.TopK < 1 {
		return sorted[len(sorted)-1]
	}
	return sorted[min(s.TopK, len(sorted))-1]
}

// The hash's multiplier is below 2³¹, so that products fit into int64: TensorFlow has all these ops for int64.
const (
	word       = 1<<32 - 1
	multiplier = 0x45d9f3b
	fraction   = 1.0 / (1 << 24)
)

// Uniform returns a number in [0, 1) with 24 random bits.
func Uniform(seed, position int64) float32 {
	h := mix(seed & word)
	h = mix(h ^ seed>>32&word)
	h = mix(h ^ position&word)
	return float32(h>>8) * fraction
}

// mix scrambles the bits of a 32-bit number.
func mix(h int64) int64 {
	h = (h ^ h>>16) * multiplier & word
	h = (h ^ h>>16) * multiplier & word
	return h ^ h>>16
}
