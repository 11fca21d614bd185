package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// SeedVariable is the environment variable that repeats a test with random inputs.
const SeedVariable = "GOESTIMATOR_SEED"

// Seed returns a fresh seed for a test's random inputs, or the seed in GOESTIMATOR_SEED, and logs how to repeat the
// test.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1 << 32)
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: expected a number from 0, got %q", SeedVariable, text)
		}
	}
	t.Logf("to repeat: %s=%d", SeedVariable, seed)
	return seed
}
