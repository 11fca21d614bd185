package kernels_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/kernels"
)

func windows() []host.Window {
	var all []host.Window
	for _, c := range []struct {
		h, w, k, stride int
		same            bool
	}{{6, 6, 2, 2, false}, {7, 5, 3, 2, true}, {5, 5, 3, 1, true}, {4, 4, 4, 4, false}} {
		g := host.Window{Batch: 2, InH: c.h, InW: c.w, InC: 3, OutC: 3, KH: c.k, KW: c.k, StrideH: c.stride, StrideW: c.stride, DilH: 1, DilW: 1}
		g.OutH, g.PadTop = host.OutSize(c.h, c.k, c.stride, 1, c.same)
		g.OutW, g.PadLeft = host.OutSize(c.w, c.k, c.stride, 1, c.same)
		all = append(all, g)
	}
	return all
}

func TestPooling(t *testing.T) {
	r := newRig(t, "pool")
	for _, g := range windows() {
		nx, ny := g.Batch*g.InH*g.InW*g.InC, g.Batch*g.OutH*g.OutW*g.OutC
		x, dy := numbers(1, nx), numbers(2, ny)
		for i := range x { // equal pixels: the first gets the gradient
			x[i] = float32(int(x[i]*2)) / 2
		}
		y, dx := make([]float32, ny), make([]float32, nx)
		px, pdy, py, pdx := up(r, x), up(r, dy), r.alloc(4*ny), r.alloc(4*nx)
		host.MaxPool(g, y, x)
		r.run(kernels.MaxPool(g, py, px))
		near(t, "max", y, down[float32](r, py, ny), 0)
		host.MaxPoolGrad(g, dx, x, y, dy)
		r.run(kernels.MaxPoolGrad(g, pdx, px, py, pdy))
		near(t, "max gradient", dx, down[float32](r, pdx, nx), 1e-6)
		host.AvgPool(g, y, x)
		r.run(kernels.AvgPool(g, py, px))
		near(t, "mean", y, down[float32](r, py, ny), 1e-6)
		host.AvgPoolGrad(g, dx, dy)
		r.run(kernels.AvgPoolGrad(g, pdx, pdy))
		near(t, "mean gradient", dx, down[float32](r, pdx, nx), 1e-6)
	}
}
