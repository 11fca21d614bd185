package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/kernels"
)

// convOps are convolutions over NHWC images.
var convOps = map[string]opDef{
	"_FusedConv2D":                        {inplace: addedAt, alone: true, compile: floats(conv(forward, kernels.Conv2D[float32], false), conv(forward, kernels.Conv2D[float64], false))},
	"Conv2D":                              {compile: floats(conv(forward, kernels.Conv2D[float32], false), conv(forward, kernels.Conv2D[float64], false))},
	"Conv2DBackpropInput":                 {unread: []int{0}, compile: floats(conv(inputGrad, triple(kernels.Conv2DInputGrad[float32]), false), conv(inputGrad, triple(kernels.Conv2DInputGrad[float64]), false))},
	"Conv2DBackpropFilter":                {unread: []int{1}, compile: floats(conv(filterGrad, triple(kernels.Conv2DFilterGrad[float32]), false), conv(filterGrad, triple(kernels.Conv2DFilterGrad[float64]), false))},
	"DepthwiseConv2dNative":               {compile: floats(conv(forward, triple(kernels.DepthwiseConv2D[float32]), true), conv(forward, triple(kernels.DepthwiseConv2D[float64]), true))},
	"DepthwiseConv2dNativeBackpropInput":  {unread: []int{0}, compile: floats(conv(inputGrad, triple(kernels.DepthwiseInputGrad[float32]), true), conv(inputGrad, triple(kernels.DepthwiseInputGrad[float64]), true))},
	"DepthwiseConv2dNativeBackpropFilter": {unread: []int{1}, compile: floats(conv(filterGrad, triple(kernels.DepthwiseFilterGrad[float32]), true), conv(filterGrad, triple(kernels.DepthwiseFilterGrad[float64]), true))},
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
		g, err := newGeometry(c)
		if err != nil {
			return nil, err
		}
		var win kernels.Window
		c.onBatch = func() (err error) {
			channels := w.dims[3]
			if depthwise {
				channels *= w.dims[2]
			}
			if w.dims[2] != x.dims[3] || y.dims[3] != channels {
				return fmt.Errorf("filter %v does not fit %d channels in and %d out", w.dims, x.dims[3], y.dims[3])
			}
			win, err = g.window(x.dims, y.dims, [2]int{w.dims[0], w.dims[1]})
			return err
		}
		a, b, dst := c.in[r.first], c.in[r.second], c.out[0]
		t, err := tailOf[T](c)
		if err != nil {
			return nil, err
		}
		if r == forward && !depthwise {
			if w := packWeights[T](c, t, false); w != nil {
				return func() error {
					packed, bias := w.current()
					kernels.Conv2DPacked(win, view[T](dst), view[T](a), packed, epilogue(t, bias))
					return nil
				}, nil
			}
		}
		return func() error {
			e := epilogue[T](t, nil)
			f(win, view[T](dst), view[T](a), view[T](b), e.Bias, e.Relu)
			return nil
		}, t.plain()
	}
}

// geometry reads a convolution's or pooling's attributes. x are the images' sizes, y those of the result, k the
// filter's height and width.
type geometry struct {
	stride, dilation [2]int
	padding          string
	explicit         []int64
}

func newGeometry(c *binding) (*geometry, error) {
	g := &geometry{dilation: [2]int{1, 1}, padding: c.node.Str("padding"), explicit: c.node.Ints("explicit_paddings")}
	s := c.node.Ints("strides")
	if len(s) != 4 || s[0] != 1 || s[3] != 1 || s[1] < 1 || s[2] < 1 {
		return nil, fmt.Errorf("strides %v: expected [1, height, width, 1]", s)
	}
	g.stride = [2]int{int(s[1]), int(s[2])}
	if d := c.node.Ints("dilations"); len(d) == 4 {
		if d[0] != 1 || d[3] != 1 || d[1] < 1 || d[2] < 1 {
			return nil, fmt.Errorf("dilations %v: expected [1, height, width, 1]", d)
		}
		g.dilation = [2]int{int(d[1]), int(d[2])}
	}
	switch {
	case g.padding == "SAME" || g.padding == "VALID":
	case g.padding == "EXPLICIT" && len(g.explicit) == 8:
	default:
		return nil, fmt.Errorf("padding %q with explicit_paddings %v: expected SAME, VALID, or EXPLICIT with 8 numbers", g.padding, g.explicit)
	}
	return g, c.channelsLast()
}

// window returns the kernel's form of the geometry after comparing it with the sizes.
func (g *geometry) window(x, y []int, k [2]int) (kernels.Window, error) {
	w := kernels.Window{Batch: x[0], InH: x[1], InW: x[2], InC: x[3], OutH: y[1], OutW: y[2], OutC: y[3],
		KH: k[0], KW: k[1], StrideH: g.stride[0], StrideW: g.stride[1], DilH: g.dilation[0], DilW: g.dilation[1]}
	var outH, outW int
	outH, w.PadTop = g.size(x[1], k[0], 0)
	outW, w.PadLeft = g.size(x[2], k[1], 1)
	if y[0] != x[0] || y[1] != outH || y[2] != outW {
		return w, fmt.Errorf("images %v under a window of %v with stride %v and padding %s: expected a result of [%d %d %d], got %v", x, k, g.stride, g.padding, x[0], outH, outW, y[:3])
	}
	return w, nil
}

// size returns the output length and the padding before of dimension i (height, width).
func (g *geometry) size(in, k, i int) (out, before int) {
	if g.padding != "EXPLICIT" {
		return kernels.OutSize(in, k, g.stride[i], g.dilation[i], g.padding == "SAME")
	}
	before, after := int(g.explicit[2+2*i]), int(g.explicit[3+2*i])
	out, _ = kernels.OutSize(in+before+after, k, g.stride[i], g.dilation[i], false)
	return out, before
}
