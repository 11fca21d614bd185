package kernels_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

func TestRandomIsTheHosts(t *testing.T) {
	r := newRig(t, "random")
	const n = 4099
	for _, rng := range []host.Rand{{Key: 7}, {Key: 1 << 63, Counter: [2]uint64{^uint64(0) - 100, 5}}} {
		p, dst := kernels.Random{Key: up(r, []uint64{rng.Key}), Counter: up(r, rng.Counter[:])}, r.alloc(4*n)
		for _, c := range []struct {
			name      string
			host      func(dst []float32, r host.Rand)
			gpu       func(dst driver.Ptr, rng kernels.Random, n int) kernels.Call
			tolerance float64
		}{
			{"uniform", host.Uniform[float32], kernels.Uniform, 0},
			{"normal", host.Normal[float32], kernels.Normal, 2e-7},
			{"truncated", host.TruncatedNormal[float32], kernels.TruncatedNormal, 2e-7},
		} {
			want := make([]float32, n)
			c.host(want, rng)
			r.run(c.gpu(dst, p, n))
			near(t, c.name, want, down[float32](r, dst, n), c.tolerance)
		}
	}
}
