package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// imageGradientOps are gradients of ops on windows of images.
var imageGradientOps = map[*ops.Def]maker{
	ops.Conv2DBackpropFilter: filterGrad(window2D, kernels.Conv2DFilterGrad[float32], kernels.Conv2DFilterGrad[float64]),
	ops.DepthwiseConv2dNativeBackpropFilter: filterGrad((*window.Attrs).Depthwise,
		kernels.DepthwiseFilterGrad[float32], kernels.DepthwiseFilterGrad[float64]),
	ops.DepthwiseConv2dNativeBackpropInput: depthwiseInputGrad,
	ops.MaxPoolGrad:                        windowed(maxPoolGrad[float32], maxPoolGrad[float64]),
	ops.AvgPoolGrad:                        avgPoolGrad,
}

// windowsOf are the windows of a filter on an image.
type windowsOf func(w *window.Attrs, image, filter []int) (kernels.Window, error)

// window2D refuses groups, whose gradients there are no kernels of.
func window2D(w *window.Attrs, image, filter []int) (kernels.Window, error) {
	g, err := w.Conv2D(image, filter)
	if err == nil && window.Groups(g, filter) > 1 {
		err = fmt.Errorf("groups %w", ErrUnsupported)
	}
	return g, err
}

// filterGrad is the gradient of a convolution with respect to its filter.
func filterGrad(windows windowsOf, f32 func(g kernels.Window, dw, x, dy []float32), f64 func(g kernels.Window, dw, x, dy []float64)) maker {
	return func(s *site) (kernel, error) {
		w, err := windowAttrs(s)
		return floats(func(c call) error { return gradOfFilter(c, w, windows, f32) }, func(c call) error { return gradOfFilter(c, w, windows, f64) }).on(0), err
	}
}

func gradOfFilter[T float](c call, w *window.Attrs, windows windowsOf, f func(g kernels.Window, dw, x, dy []T)) error {
	x, dy := c.t(0), c.t(2)
	shape, err := vector("filter_sizes", c.t(1))
	if err != nil {
		return err
	}
	if len(shape) != 4 || len(x.Shape) != 4 || x.DType != dy.DType {
		return fmt.Errorf("input %v, filter_sizes %v and out_backprop %v do not fit", x.Shape, shape, dy.Shape)
	}
	dw, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	g, err := windows(w, x.Shape, shape)
	if err != nil {
		return err
	}
	if err := fits("out_backprop", dy, window.Result(g)); err != nil || len(dw) == 0 || dy.Len() == 0 {
		return err
	}
	f(g, dw, tensor.Values[T](x), tensor.Values[T](dy))
	return nil
}

// fits fails unless t has that shape.
func fits(what string, t *tensor.Tensor, shape []int) error {
	if !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("%s: expected shape %v, got %v", what, shape, t.Shape)
	}
	return nil
}

func depthwiseInputGrad(s *site) (kernel, error) {
	w, err := windowAttrs(s)
	return floats(func(c call) error { return gradOfDepthwise[float32](c, w) }, func(c call) error { return gradOfDepthwise[float64](c, w) }).on(2), err
}

func gradOfDepthwise[T float](c call, w *window.Attrs) error {
	f, dy := c.t(1), c.t(2)
	shape, err := vector("input_sizes", c.t(0))
	if err != nil {
		return err
	}
	if len(shape) != 4 || len(f.Shape) != 4 || f.DType != dy.DType {
		return fmt.Errorf("input_sizes %v, filter %v and out_backprop %v do not fit", shape, f.Shape, dy.Shape)
	}
	dx, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	g, err := w.Depthwise(shape, f.Shape)
	if err != nil {
		return err
	}
	if err := fits("out_backprop", dy, window.Result(g)); err != nil || len(dx) == 0 || dy.Len() == 0 {
		return err
	}
	kernels.DepthwiseInputGrad(g, dx, tensor.Values[T](dy), tensor.Values[T](f))
	return nil
}

// maxPoolGrad takes the pooled images, the result and its gradient.
func maxPoolGrad[T float](c call, w *window.Attrs) error {
	x, y, dy := c.t(0), c.t(1), c.t(2)
	if err := sameType(c.in); err != nil {
		return err
	}
	g, err := w.Pool(x.Shape)
	if err != nil {
		return err
	}
	for i, t := range []*tensor.Tensor{y, dy} {
		if err := fits([]string{"orig_output", "grad"}[i], t, window.Result(g)); err != nil {
			return err
		}
	}
	dx, err := outputOf[T](c, 0, x.Shape...)
	if err != nil || len(dx) == 0 || dy.Len() == 0 {
		return err
	}
	kernels.MaxPoolGrad(g, dx, tensor.Values[T](x), tensor.Values[T](y), tensor.Values[T](dy))
	return nil
}

func avgPoolGrad(s *site) (kernel, error) {
	w, err := windowAttrs(s)
	return floats(func(c call) error { return gradOfMeans[float32](c, w) }, func(c call) error { return gradOfMeans[float64](c, w) }).on(1), err
}

func gradOfMeans[T float](c call, w *window.Attrs) error {
	shape, err := vector("orig_input_shape", c.t(0))
	if err != nil {
		return err
	}
	dx, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	g, err := w.Pool(shape)
	if err != nil {
		return err
	}
	if err := fits("grad", c.t(1), window.Result(g)); err != nil || len(dx) == 0 || c.t(1).Len() == 0 {
		return err
	}
	kernels.AvgPoolGrad(g, dx, tensor.Values[T](c.t(1)))
	return nil
}
