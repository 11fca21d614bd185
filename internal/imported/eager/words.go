package eager

import (
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// words returns the random numbers for the attributes seed and seed2. If both are zero, the seeds are random.
func words(seeds [2]int) func() uint32 {
	seed, seed2 := uint64(seeds[0]), uint64(seeds[1])
	if seed == 0 && seed2 == 0 {
		seed, seed2 = rand.Uint64(), rand.Uint64()
	}
	return kernels.Seeded(seed, seed2).Words().Next
}
