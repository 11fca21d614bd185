package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// poolOps are poolings over NHWC images.
var poolOps = map[*ops.Def]opDef{
	ops.MaxPool:     {compile: floats(pool(kernels.MaxPool[float32]), pool(kernels.MaxPool[float64]))},
	ops.AvgPool:     {compile: floats(pool(kernels.AvgPool[float32]), pool(kernels.AvgPool[float64]))},
	ops.MaxPoolGrad: {compile: floats(compileMaxPoolGrad[float32], compileMaxPoolGrad[float64])},
	ops.AvgPoolGrad: {compile: floats(compileAvgPoolGrad[float32], compileAvgPoolGrad[float64])},
}

// pooling keeps the window between images x and pooled y, and more values of their type, up to date with the batch.
func pooling[T kernels.Float](c *binding, x, y *value, more ...*value) (*kernels.Window, error) {
	if err := checkTypes[T](append(more, x, y)...); err != nil {
		return nil, err
	}
	if len(x.dims) != 4 || len(y.dims) != 4 {
		return nil, fmt.Errorf("expected images of rank 4, got %v and %v", x.typ.Shape, y.typ.Shape)
	}
	attrs, err := c.windowAttrs()
	if err != nil {
		return nil, err
	}
	w := &kernels.Window{}
	c.onBatch = func() (err error) {
		if *w, err = attrs.Pool(x.dims); err != nil {
			return err
		}
		return checkWindow(*w, y.dims)
	}
	return w, nil
}

func pool[T kernels.Float](f func(g kernels.Window, y, x []T)) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(1, 1); err != nil {
			return nil, err
		}
		x, y := c.in[0], c.out[0]
		w, err := pooling[T](c, x, y)
		return func() error { f(*w, view[T](y), view[T](x)); return nil }, err
	}
}

// compileMaxPoolGrad takes x, y and dy.
func compileMaxPoolGrad[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	x, y, dy, dx := c.in[0], c.in[1], c.in[2], c.out[0]
	if !y.typ.Shape.Equal(dy.typ.Shape) || !x.typ.Shape.Equal(dx.typ.Shape) {
		return nil, fmt.Errorf("expected gradients of the shapes %v and %v, got %v and %v", x.typ.Shape, y.typ.Shape, dx.typ.Shape, dy.typ.Shape)
	}
	w, err := pooling[T](c, x, y, dy, dx)
	return func() error {
		kernels.MaxPoolGrad(*w, view[T](dx), view[T](x), view[T](y), view[T](dy))
		return nil
	}, err
}

// compileAvgPoolGrad takes the sizes of x, which are not read, and dy.
func compileAvgPoolGrad[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	dy, dx := c.in[1], c.out[0]
	w, err := pooling[T](c, dx, dy)
	return func() error { kernels.AvgPoolGrad(*w, view[T](dx), view[T](dy)); return nil }, err
}
