package kernels_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

func windows() []host.Window {
	var all []host.Window
	for _, c := range []struct {
		h, w, k, stride int
		same            bool
	}{{6, 6, 2, 2, false}, {7, 5, 3, 2, true}, {5, 5, 3, 1, true}, {4, 4, 4, 4, false}} {
		all = append(all, shape{2, c.h, c.w, 3, 3, c.k, c.k, c.stride, 1, c.same}.window())
	}
	return all
}

func TestPooling(t *testing.T) {
	r := newRig(t, "pool")
	for _, g := range windows() {
		for _, bfloat16 := range []bool{false, true} {
			testPooling(r, g, bfloat16)
		}
	}
}

func testPooling(r *rig, g host.Window, bfloat16 bool) {
	nx, ny, tolerance := g.Batch*g.InH*g.InW*g.InC, g.Batch*g.OutH*g.OutW*g.OutC, 1e-6
	if bfloat16 {
		tolerance = 1e-2
	}
	x, dy := numbers(1, nx), numbers(2, ny)
	for i := range x { // equal pixels: the first gets the gradient
		x[i] = float32(int(x[i]*2)) / 2
	}
	y, dx := make([]float32, ny), make([]float32, nx)
	p := kernels.Pool{Window: g, X: r.put(x, bfloat16), DY: r.put(dy, bfloat16), Y: r.alloc(4 * ny), DX: r.alloc(4 * nx), BFloat16: bfloat16}
	host.MaxPool(g, y, x)
	r.run(p.Max()...)
	near(r.t, "max", y, r.get(p.Y, ny, bfloat16), 0)
	host.MaxPoolGrad(g, dx, x, y, dy)
	r.run(p.MaxGrad()...)
	near(r.t, "max gradient", dx, r.get(p.DX, nx, bfloat16), tolerance)
	host.AvgPool(g, y, x)
	r.run(p.Mean()...)
	near(r.t, "mean", y, r.get(p.Y, ny, bfloat16), tolerance)
	host.AvgPoolGrad(g, dx, dy)
	r.run(p.MeanGrad()...)
	near(r.t, "mean gradient", dx, r.get(p.DX, nx, bfloat16), tolerance)
}
