package engine

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// convOps are convolutions over NHWC images and NDHWC volumes.
var convOps = map[*ops.Def]opDef{
	ops.FusedConv2D:                         {inplace: addedAt, alone: true, compile: floats(conv(forward, images, forward2D[float32]), conv(forward, images, forward2D[float64]))},
	ops.Conv2D:                              {compile: floats(conv(forward, images, forward2D[float32]), conv(forward, images, forward2D[float64]))},
	ops.Conv2DBackpropInput:                 {compile: floats(conv(inputGrad, images, planar(kernels.Conv2DInputGrad[float32])), conv(inputGrad, images, planar(kernels.Conv2DInputGrad[float64])))},
	ops.Conv2DBackpropFilter:                {compile: floats(conv(filterGrad, images, planar(kernels.Conv2DFilterGrad[float32])), conv(filterGrad, images, planar(kernels.Conv2DFilterGrad[float64])))},
	ops.DepthwiseConv2dNative:               {compile: floats(conv(forward, depthwise, planar(kernels.DepthwiseConv2D[float32])), conv(forward, depthwise, planar(kernels.DepthwiseConv2D[float64])))},
	ops.DepthwiseConv2dNativeBackpropInput:  {compile: floats(conv(inputGrad, depthwise, planar(kernels.DepthwiseInputGrad[float32])), conv(inputGrad, depthwise, planar(kernels.DepthwiseInputGrad[float64])))},
	ops.DepthwiseConv2dNativeBackpropFilter: {compile: floats(conv(filterGrad, depthwise, planar(kernels.DepthwiseFilterGrad[float32])), conv(filterGrad, depthwise, planar(kernels.DepthwiseFilterGrad[float64])))},
	ops.Conv3D:                              {compile: floats(conv(forward, volumes, triple(kernels.Conv3D[float32])), conv(forward, volumes, triple(kernels.Conv3D[float64])))},
	ops.Conv3DBackpropInputV2:               {compile: floats(conv(inputGrad, volumes, triple(kernels.Conv3DInputGrad[float32])), conv(inputGrad, volumes, triple(kernels.Conv3DInputGrad[float64])))},
	ops.Conv3DBackpropFilterV2:              {compile: floats(conv(filterGrad, volumes, triple(kernels.Conv3DFilterGrad[float32])), conv(filterGrad, volumes, triple(kernels.Conv3DFilterGrad[float64])))},
}

// convKind says what the windows of a convolution move over.
type convKind int

const (
	images convKind = iota
	depthwise
	volumes
)

// rank is the rank of images, filters and results.
func (k convKind) rank() int {
	if k == volumes {
		return 5
	}
	return 4
}

// over returns the geometry, without a depth for images, and the sizes of the result.
func (k convKind) over(a *window.Attrs, x, filter []int) (v kernels.Volume, y []int, err error) {
	switch k {
	case volumes:
		v, err = a.Conv3D(x, filter)
		return v, window.Volumes(v), err
	case depthwise:
		v.Window, err = a.Depthwise(x, filter)
	default:
		v.Window, err = a.Conv2D(x, filter)
	}
	return v, window.Result(v.Window), err
}

// fits fails if known channels of images and filter do not match.
func (k convKind) fits(x, filter graph.Shape) error {
	in, f := x.Dims[k.rank()-1], filter.Dims[k.rank()-2]
	if in != f && (k != images || !in.Static() || !f.Static() || f.Const < 1 || in.Const%f.Const != 0) {
		return fmt.Errorf("filter %v does not fit the channels of images %v", filter, x)
	}
	return nil
}

// role says which inputs of a convolution or its gradient are the images x, the filter w and the result y (a position
// below zero is output 0), and which two operands its kernel takes after the result.
type role struct{ x, w, y, first, second int }

var (
	forward    = role{x: 0, w: 1, y: -1, first: 0, second: 1}
	inputGrad  = role{x: -1, w: 1, y: 2, first: 2, second: 1} // input_sizes (not read), filter, dy
	filterGrad = role{x: 0, w: -1, y: 2, first: 0, second: 2} // x, filter_sizes (not read), dy
)

// triple makes the kernel of an op with two operands, planar of one for images only.
func triple[T kernels.Float](f func(v kernels.Volume, dst, a, b []T)) convKernel[T] {
	return func(v kernels.Volume, dst, a, b, _ []T, _ bool) { f(v, dst, a, b) }
}

func planar[T kernels.Float](f func(g kernels.Window, dst, a, b []T)) convKernel[T] {
	return func(v kernels.Volume, dst, a, b, _ []T, _ bool) { f(v.Window, dst, a, b) }
}

func forward2D[T kernels.Float](v kernels.Volume, y, x, w, bias []T, relu bool) {
	kernels.Conv2D(v.Window, y, x, w, bias, relu)
}

// convKernel computes dst from two operands; bias may be nil.
type convKernel[T kernels.Float] func(v kernels.Volume, dst, a, b, bias []T, relu bool)

// at returns input i, or output 0 for a position below zero.
func (c *binding) at(i int) *value {
	if i < 0 {
		return c.out[0]
	}
	return c.in[i]
}

func conv[T kernels.Float](r role, k convKind, f convKernel[T]) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(max(r.x, r.w, r.y)+1, 1); err != nil {
			return nil, err
		}
		x, w, y := c.at(r.x), c.at(r.w), c.at(r.y)
		for _, v := range []*value{x, w, y} {
			if len(v.dims) != k.rank() || v.typ.DType != x.typ.DType && (v != c.in[1] || weightsAre[T](c) != nil) {
				return nil, fmt.Errorf("expected images, filter and result of rank %d and one type, got %v %v", k.rank(), v.typ.DType, v.typ.Shape)
			}
		}
		attrs, err := c.windowAttrs()
		if err != nil {
			return nil, err
		}
		if err := k.fits(x.typ.Shape, w.typ.Shape); err != nil {
			return nil, err
		}
		var win kernels.Volume
		c.onBatch = func() error {
			var sizes []int
			if win, sizes, err = k.over(attrs, x.dims, w.dims); err != nil {
				return err
			}
			return checkResult(x.dims, sizes, y.dims)
		}
		a, b, dst := c.in[r.first], c.in[r.second], c.out[0]
		t, err := epilogueOf[T](c)
		if err != nil {
			return nil, err
		}
		if r == forward && k == images && x.typ.Shape.Dims[3] == w.typ.Shape.Dims[2] { // no groups
			if w := packWeights[T](c, t, false); w != nil {
				return func() error {
					if dst.n == 0 {
						return nil
					}
					kernels.Conv2DPacked(win.Window, view[T](dst), view[T](a), w.filter(win.Window), w.epilogue())
					return nil
				}, nil
			}
		}
		return func() error {
			if dst.n == 0 {
				return nil
			}
			e := kernelEpilogue[T](t)
			f(win, view[T](dst), view[T](a), view[T](b), e.Bias, e.Relu)
			return nil
		}, t.plain()
	}
}

// windowAttrs reads the attributes of a convolution or a pooling.
func (c *binding) windowAttrs() (*window.Attrs, error) {
	if err := c.channelsLast(); err != nil {
		return nil, err
	}
	return window.Read(c.node)
}

// checkResult fails unless y has the sizes that windows over images give.
func checkResult(images, want, y []int) error {
	if !slices.Equal(y, want) {
		return fmt.Errorf("windows over images %v: expected a result of %v, got %v", images, want, y)
	}
	return nil
}
