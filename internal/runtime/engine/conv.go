package engine

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// convOps are convolutions over NHWC images.
var convOps = map[*ops.Def]opDef{
	ops.FusedConv2D:                         {inplace: addedAt, alone: true, compile: floats(conv(forward, kernels.Conv2D[float32], false), conv(forward, kernels.Conv2D[float64], false))},
	ops.Conv2D:                              {compile: floats(conv(forward, kernels.Conv2D[float32], false), conv(forward, kernels.Conv2D[float64], false))},
	ops.Conv2DBackpropInput:                 {compile: floats(conv(inputGrad, triple(kernels.Conv2DInputGrad[float32]), false), conv(inputGrad, triple(kernels.Conv2DInputGrad[float64]), false))},
	ops.Conv2DBackpropFilter:                {compile: floats(conv(filterGrad, triple(kernels.Conv2DFilterGrad[float32]), false), conv(filterGrad, triple(kernels.Conv2DFilterGrad[float64]), false))},
	ops.DepthwiseConv2dNative:               {compile: floats(conv(forward, triple(kernels.DepthwiseConv2D[float32]), true), conv(forward, triple(kernels.DepthwiseConv2D[float64]), true))},
	ops.DepthwiseConv2dNativeBackpropInput:  {compile: floats(conv(inputGrad, triple(kernels.DepthwiseInputGrad[float32]), true), conv(inputGrad, triple(kernels.DepthwiseInputGrad[float64]), true))},
	ops.DepthwiseConv2dNativeBackpropFilter: {compile: floats(conv(filterGrad, triple(kernels.DepthwiseFilterGrad[float32]), true), conv(filterGrad, triple(kernels.DepthwiseFilterGrad[float64]), true))},
}

// role says where an op of the convolution family has the images x, the filter w and the result y (a position below
// zero is output 0), and which operands its kernel takes after the result.
type role struct{ x, w, y, first, second int }

var (
	forward    = role{x: 0, w: 1, y: -1, first: 0, second: 1}
	inputGrad  = role{x: -1, w: 1, y: 2, first: 2, second: 1} // input_sizes (not read), filter, dy
	filterGrad = role{x: 0, w: -1, y: 2, first: 0, second: 2} // x, filter_sizes (not read), dy
)

// triple is the kernel of an op with two operands.
func triple[T kernels.Float](f func(g kernels.Window, dst, a, b []T)) convKernel[T] {
	return func(g kernels.Window, dst, a, b, _ []T, _ bool) { f(g, dst, a, b) }
}

// convKernel computes dst of two operands; bias may be nil.
type convKernel[T kernels.Float] func(g kernels.Window, dst, a, b, bias []T, relu bool)

// at returns input i, or output 0 for a position below zero.
func (c *binding) at(i int) *value {
	if i < 0 {
		return c.out[0]
	}
	return c.in[i]
}

func conv[T kernels.Float](r role, f convKernel[T], depthwise bool) compileFunc {
	return func(c *binding) (runFunc, error) {
		if err := c.need(max(r.x, r.w, r.y)+1, 1); err != nil {
			return nil, err
		}
		x, w, y := c.at(r.x), c.at(r.w), c.at(r.y)
		for _, v := range []*value{x, w, y} {
			if len(v.dims) != 4 || v.typ.DType != x.typ.DType {
				return nil, fmt.Errorf("expected images, filter and result of rank 4 and one type, got %v %v", v.typ.DType, v.typ.Shape)
			}
		}
		attrs, err := c.windowAttrs()
		if err != nil {
			return nil, err
		}
		if w.typ.Shape.Dims[2] != x.typ.Shape.Dims[3] {
			return nil, fmt.Errorf("filter %v does not fit the channels of images %v, in groups or at all", w.typ.Shape, x.typ.Shape)
		}
		over := attrs.Conv2D
		if depthwise {
			over = attrs.Depthwise
		}
		var win kernels.Window
		c.onBatch = func() (err error) {
			if win, err = over(x.dims, w.dims); err != nil {
				return err
			}
			return checkWindow(win, y.dims)
		}
		a, b, dst := c.in[r.first], c.in[r.second], c.out[0]
		t, err := epilogueOf[T](c)
		if err != nil {
			return nil, err
		}
		if r == forward && !depthwise {
			if w := packWeights[T](c, t, false); w != nil {
				return func() error {
					if dst.n == 0 {
						return nil
					}
					packed, bias := w.current()
					kernels.Conv2DPacked(win, view[T](dst), view[T](a), packed, kernelEpilogue(t, bias))
					return nil
				}, nil
			}
		}
		return func() error {
			if dst.n == 0 {
				return nil
			}
			e := kernelEpilogue[T](t, nil)
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

// checkWindow fails unless y are the sizes of a geometry's result.
func checkWindow(g kernels.Window, y []int) error {
	if want := window.Result(g); !slices.Equal(y, want) {
		return fmt.Errorf("images [%d %d %d %d] under a window of [%d %d]: expected a result of %v, got %v", g.Batch, g.InH, g.InW, g.InC, g.KH, g.KW, want, y)
	}
	return nil
}
