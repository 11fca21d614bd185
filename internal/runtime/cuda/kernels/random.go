package kernels

import "github.com/goestimator/goestimator/internal/runtime/cuda/driver"

// Random is the state of a stream of random numbers on the GPU: the key, and the counter's low and high half, uint64 each.
type Random struct{ Key, Counter driver.Ptr }

// Uniform fills n float32 of dst with the numbers of the host's function of the same name. So do Normal and TruncatedNormal.
func Uniform(dst driver.Ptr, rng Random, n int) Call { return fill("random_uniform", dst, rng, n) }

// Normal draws standard normals.
func Normal(dst driver.Ptr, rng Random, n int) Call { return fill("random_normal", dst, rng, n) }

// TruncatedNormal draws standard normals within 2.
func TruncatedNormal(dst driver.Ptr, rng Random, n int) Call {
	return fill("random_truncated", dst, rng, n)
}

func fill(kernel string, dst driver.Ptr, rng Random, n int) Call {
	grid, block := over(ceilDiv(n, 4))
	return call(kernel, grid, block, dst, rng.Key, rng.Counter, n)
}
