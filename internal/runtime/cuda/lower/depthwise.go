package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// depthwiseOps are convolutions of each channel by filters of its own.
var depthwiseOps = map[*ops.Def]lowering{
	ops.DepthwiseConv2dNative:               lowerDepthwise(Forward, kernels.Depthwise.Forward),
	ops.DepthwiseConv2dNativeBackpropInput:  lowerDepthwise(InputGradient, kernels.Depthwise.InputGrad),
	ops.DepthwiseConv2dNativeBackpropFilter: lowerDepthwise(FilterGradient, kernels.Depthwise.FilterGrad),
}

func lowerDepthwise(d Direction, calls func(kernels.Depthwise) []kernels.Call) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		c, err := newConvolution(t, o, d)
		if err != nil {
			return nil, err
		}
		s := &step{t: t, o: o}
		if d == FilterGradient {
			s.workspace = func(batch int) int {
				k, err := c.depthwise(c.x.Type.Shape.At(batch), c.filter.Type.Shape.At(batch), c.y.Type.Shape.At(batch))
				if err != nil {
					return 0 // Bind returns the error
				}
				return k.ScratchBytes()
			}
		}
		s.calls = func() ([]kernels.Call, error) {
			k, err := c.depthwise(c.x.Dims, c.filter.Dims, c.y.Dims)
			k.X, k.W, k.Y, k.Scratch = Address(c.x), Address(c.filter), Address(c.y), Address(&o.Workspace)
			if err != nil {
				return nil, err
			}
			return calls(k), nil
		}
		return s, nil
	}
}

// depthwise returns the convolution of operands of the given dimensions, without addresses.
func (c *convolution) depthwise(x, filter, y []int) (kernels.Depthwise, error) {
	if filter[2] != x[3] || filter[2]*filter[3] != y[3] || y[3] == 0 {
		return kernels.Depthwise{}, fmt.Errorf("filter %v does not fit %d channels in and %d out", filter, x[3], y[3])
	}
	w, err := c.attrs.Depthwise(x, filter)
	if err == nil {
		err = checkWindow(w, y)
	}
	return kernels.Depthwise{Window: w, BFloat16: isBFloat16(c.x), FloatW: c.filter.Type.DType == tensor.Float32}, err
}
