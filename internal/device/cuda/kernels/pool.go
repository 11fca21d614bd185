package kernels

import (
	"github.com/goestimator/goestimator/internal/device/cuda/driver"
	host "github.com/goestimator/goestimator/internal/kernels"
)

// MaxPool sets y to the largest pixel of each window.
func MaxPool(g host.Window, y, x driver.Ptr) Call {
	return window("max_pool", g, g.Batch*g.OutH*g.OutW*g.InC, y, x)
}

// MaxPoolGrad sets dx: each dy goes to the first largest pixel of its window.
func MaxPoolGrad(g host.Window, dx, x, y, dy driver.Ptr) Call {
	return window("max_pool_grad", g, g.Batch*g.InH*g.InW*g.InC, dx, x, y, dy)
}

// AvgPool sets y to the mean of each window's pixels inside the image.
func AvgPool(g host.Window, y, x driver.Ptr) Call {
	return window("avg_pool", g, g.Batch*g.OutH*g.OutW*g.InC, y, x)
}

// AvgPoolGrad shares each dy among its window's pixels inside the image.
func AvgPoolGrad(g host.Window, dx, dy driver.Ptr) Call {
	return window("avg_pool_grad", g, g.Batch*g.InH*g.InW*g.InC, dx, dy)
}

// window is a call over n elements with a geometry behind the pointers.
func window(kernel string, g host.Window, n int, pointers ...driver.Ptr) Call {
	var args []any
	for _, p := range pointers {
		args = append(args, p)
	}
	for _, v := range []int{g.Batch, g.InH, g.InW, g.InC, g.OutH, g.OutW, g.KH, g.KW, g.StrideH, g.StrideW, g.DilH, g.DilW, g.PadTop, g.PadLeft} {
		args = append(args, int32(v))
	}
	grid, block := over(n)
	return call(kernel, grid, block, args...)
}
