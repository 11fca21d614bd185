package sampling_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/sampling"
)

// A seed and a position always give the same token.
func ExampleSampler_Draw() {
	logits := []float32{0, 1, 3, 2}
	fmt.Println(sampling.Sampler{}.Draw(logits, 0))
	s := sampling.Sampler{Temperature: 1, TopK: 2, Seed: 5}
	for position := range int64(4) {
		fmt.Println(s.Draw(logits, position), s.Draw(logits, position))
	}
	// Output:
	// 2
	// 3 3
	// 2 2
	// 3 3
	// 2 2
}
