package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// poolOps are poolings over NHWC images and NDHWC volumes.
var poolOps = map[*ops.Def]opDef{
	ops.MaxPool:       {compile: floats(pool(window2D, kernels.MaxPool[float32]), pool(window2D, kernels.MaxPool[float64]))},
	ops.AvgPool:       {compile: floats(pool(window2D, kernels.AvgPool[float32]), pool(window2D, kernels.AvgPool[float64]))},
	ops.MaxPool3D:     {compile: floats(pool(window3D, kernels.MaxPool3D[float32]), pool(window3D, kernels.MaxPool3D[float64]))},
	ops.AvgPool3D:     {compile: floats(pool(window3D, kernels.AvgPool3D[float32]), pool(window3D, kernels.AvgPool3D[float64]))},
	ops.MaxPoolGrad:   {compile: floats(maxPoolGrad(window2D, kernels.MaxPoolGrad[float32]), maxPoolGrad(window2D, kernels.MaxPoolGrad[float64]))},
	ops.AvgPoolGrad:   {compile: floats(avgPoolGrad(window2D, kernels.AvgPoolGrad[float32]), avgPoolGrad(window2D, kernels.AvgPoolGrad[float64]))},
	ops.MaxPool3DGrad: {compile: floats(maxPoolGrad(window3D, kernels.MaxPool3DGrad[float32]), maxPoolGrad(window3D, kernels.MaxPool3DGrad[float64]))},
	ops.AvgPool3DGrad: {compile: floats(avgPoolGrad(window3D, kernels.AvgPool3DGrad[float32]), avgPoolGrad(window3D, kernels.AvgPool3DGrad[float64]))},
}

// poolWindow is the geometry of a pooling, a Window or a Volume, and the sizes of its result.
type poolWindow[G any] func(a *window.Attrs, x []int) (g G, y []int, err error)

func window2D(a *window.Attrs, x []int) (kernels.Window, []int, error) {
	g, err := a.Pool(x)
	return g, window.Result(g), err
}

func window3D(a *window.Attrs, x []int) (kernels.Volume, []int, error) {
	g, err := a.Pool3D(x)
	return g, window.Volumes(g), err
}

// pooling returns the window of a pooling of images x to y, kept up to date with the batch. more must have the type of x and y.
func pooling[T kernels.Float, G any](c *binding, over poolWindow[G], x, y *value, more ...*value) (*G, error) {
	if err := checkTypes[T](append(more, x, y)...); err != nil {
		return nil, err
	}
	attrs, err := c.windowAttrs()
	if err != nil {
		return nil, err
	}
	w := new(G)
	c.onBatch = func() (err error) {
		var sizes []int
		if *w, sizes, err = over(attrs, x.dims); err != nil {
			return err
		}
		return checkResult(x.dims, sizes, y.dims)
	}
	return w, nil
}

func pool[T kernels.Float, G any](over poolWindow[G], f func(g G, y, x []T)) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(1, 1); err != nil {
			return nil, err
		}
		x, y := c.in[0], c.out[0]
		w, err := pooling[T](c, over, x, y)
		return func() error { f(*w, view[T](y), view[T](x)); return nil }, err
	}
}

// maxPoolGrad takes x, y and dy.
func maxPoolGrad[T kernels.Float, G any](over poolWindow[G], f func(g G, dx, x, y, dy []T)) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(3, 1); err != nil {
			return nil, err
		}
		x, y, dy, dx := c.in[0], c.in[1], c.in[2], c.out[0]
		if !y.typ.Shape.Equal(dy.typ.Shape) || !x.typ.Shape.Equal(dx.typ.Shape) {
			return nil, fmt.Errorf("expected gradients of the shapes %v and %v, got %v and %v", x.typ.Shape, y.typ.Shape, dx.typ.Shape, dy.typ.Shape)
		}
		w, err := pooling[T](c, over, x, y, dy, dx)
		return func() error { f(*w, view[T](dx), view[T](x), view[T](y), view[T](dy)); return nil }, err
	}
}

// avgPoolGrad takes the sizes of x, which are not read, and dy.
func avgPoolGrad[T kernels.Float, G any](over poolWindow[G], f func(g G, dx, dy []T)) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(2, 1); err != nil {
			return nil, err
		}
		dy, dx := c.in[1], c.out[0]
		w, err := pooling[T](c, over, dx, dy)
		return func() error { f(*w, view[T](dx), view[T](dy)); return nil }, err
	}
}
