package eager

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// poolOps are pools of images and volumes and their gradients; poolSizeOps take sizes and strides as inputs.
var poolOps = map[*ops.Def]maker{
	ops.MaxPool:       maxPool,
	ops.AvgPool:       windowed(pooling(images, kernels.AvgPool[float32]), pooling(images, kernels.AvgPool[float64]), 0),
	ops.MaxPool3D:     windowed(pooling(volumes, kernels.MaxPool3D[float32]), pooling(volumes, kernels.MaxPool3D[float64]), 0),
	ops.AvgPool3D:     windowed(pooling(volumes, kernels.AvgPool3D[float32]), pooling(volumes, kernels.AvgPool3D[float64]), 0),
	ops.MaxPoolGrad:   windowed(maxPoolGrad(images, kernels.MaxPoolGrad[float32]), maxPoolGrad(images, kernels.MaxPoolGrad[float64]), 0, 1, 2),
	ops.MaxPool3DGrad: windowed(maxPoolGrad(volumes, kernels.MaxPool3DGrad[float32]), maxPoolGrad(volumes, kernels.MaxPool3DGrad[float64]), 0, 1, 2),
	ops.AvgPoolGrad:   windowed(avgPoolGrad(images, kernels.AvgPoolGrad[float32]), avgPoolGrad(images, kernels.AvgPoolGrad[float64]), 1),
	ops.AvgPool3DGrad: windowed(avgPoolGrad(volumes, kernels.AvgPool3DGrad[float32]), avgPoolGrad(volumes, kernels.AvgPool3DGrad[float64]), 1),

	ops.MaxPoolWithArgmax:     maxPoolArgmax,
	ops.MaxPoolGradWithArgmax: maxPoolGradArgmax,
}

var poolSizeOps = map[*ops.Def]maker{
	ops.MaxPoolV2:     pooledBySizes(ops.MaxPool, 1),
	ops.MaxPoolGradV2: pooledBySizes(ops.MaxPoolGrad, 3),
}

// poolKernel computes output 0 under the windows of a node.
type poolKernel func(c call, w *window.Attrs) error

// windowed returns the maker of a windowed op for two element types; at are the inputs that are images, which matters if channels come first.
func windowed(f32, f64 poolKernel, at ...int) maker {
	return func(s *site) (kernel, error) {
		w, err := window.Read(s.node)
		if err != nil {
			return nil, err
		}
		k := floats(func(c call) error { return f32(c, w) }, func(c call) error { return f64(c, w) }).on(at[0])
		if w.First {
			k = channelsFirst(k, true, at...)
		}
		return k, nil
	}
}

// geometry returns the Window or Volume of a pool of x, and the sizes of the result.
type geometry[G any] func(w *window.Attrs, x []int) (g G, y []int, err error)

func images(w *window.Attrs, x []int) (kernels.Window, []int, error) {
	g, err := w.Pool(x)
	return g, window.Result(g), err
}

func volumes(w *window.Attrs, x []int) (kernels.Volume, []int, error) {
	g, err := w.Pool3D(x)
	return g, window.Volumes(g), err
}

func pooling[T number, G any](over geometry[G], f func(g G, y, x []T)) poolKernel {
	return func(c call, w *window.Attrs) error {
		g, sizes, err := over(w, c.t(0).Shape)
		if err != nil {
			return err
		}
		y, err := outputOf[T](c, 0, sizes...)
		if err != nil || len(y) == 0 {
			return err
		}
		f(g, y, tensor.Values[T](c.t(0)))
		return nil
	}
}

// maxPoolGrad takes the pool's input, its result and the result's gradient.
func maxPoolGrad[T float, G any](over geometry[G], f func(g G, dx, x, y, dy []T)) poolKernel {
	return func(c call, w *window.Attrs) error {
		x, y, dy := c.t(0), c.t(1), c.t(2)
		if err := sameType(c.in); err != nil {
			return err
		}
		g, sizes, err := over(w, x.Shape)
		if err != nil {
			return err
		}
		for i, t := range []*tensor.Tensor{y, dy} {
			if err := fits([]string{"orig_output", "grad"}[i], t, sizes); err != nil {
				return err
			}
		}
		dx, err := outputOf[T](c, 0, x.Shape...)
		if err != nil || len(dx) == 0 || dy.Len() == 0 {
			return err
		}
		f(g, dx, tensor.Values[T](x), tensor.Values[T](y), tensor.Values[T](dy))
		return nil
	}
}

// avgPoolGrad takes the sizes of the pool's input and the gradient of its result.
func avgPoolGrad[T float, G any](over geometry[G], f func(g G, dx, dy []T)) poolKernel {
	return func(c call, w *window.Attrs) error {
		shape, err := c.vector("orig_input_shape", c.t(0))
		if err != nil {
			return err
		}
		shape = w.ChannelsLast(shape)
		dx, err := outputOf[T](c, 0, shape...)
		if err != nil {
			return err
		}
		g, sizes, err := over(w, shape)
		if err != nil {
			return err
		}
		if err := fits("grad", c.t(1), sizes); err != nil || len(dx) == 0 || c.t(1).Len() == 0 {
			return err
		}
		f(g, dx, tensor.Values[T](c.t(1)))
		return nil
	}
}

// fits fails unless t has the shape.
func fits(what string, t *tensor.Tensor, shape []int) error {
	if !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("%s: expected shape %v, got %v", what, shape, t.Shape)
	}
	return nil
}

// pooledBySizes returns the maker of an op whose ksize and strides are inputs, from input first on, instead of attributes.
func pooledBySizes(op *ops.Def, first int) maker {
	return func(s *site) (kernel, error) {
		return func(c call) error {
			n := *s.node
			n.Op, n.Attrs = op.Name, maps.Clone(s.node.Attrs)
			for i, name := range []string{"ksize", "strides"} {
				v, err := c.vector(name, c.t(first+i))
				if err != nil {
					return err
				}
				if len(v) != 4 {
					return fmt.Errorf("Sliding window %s field must specify 4 dimensions", name)
				}
				wide := make([]int64, len(v))
				for k, x := range v {
					wide[k] = int64(x)
				}
				n.Attrs[name] = wide
			}
			k, err := poolOps[op](&site{node: &n})
			if err != nil {
				return err
			}
			c.in = c.in[:first]
			return k(c)
		}, nil
	}
}
