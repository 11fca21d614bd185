package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// poolOps are poolings over NHWC images.
var poolOps = map[*ops.Def]lowering{
	ops.MaxPool:     lowerPool(1, kernels.Pool.Max),
	ops.AvgPool:     lowerPool(1, kernels.Pool.Mean),
	ops.MaxPoolGrad: lowerPool(3, kernels.Pool.MaxGrad),
	ops.AvgPoolGrad: lowerPool(2, kernels.Pool.MeanGrad),
}

// lowerPool makes the step of an op whose inputs are x, or x, y and dy, or the sizes of x (not read) and dy.
func lowerPool(inputs int, calls func(kernels.Pool) []kernels.Call) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, inputs, 1); err != nil {
			return nil, err
		}
		x, y, all := o.Out[0], o.In[inputs-1], []*engine.Operand{o.Out[0]}
		switch inputs {
		case 1:
			x, y, all = o.In[0], o.Out[0], append(all, o.In[0])
		case 2:
			all = append(all, o.In[1])
		case 3:
			all = append(all, o.In[:3]...)
			if !o.In[0].Type.Shape.Equal(x.Type.Shape) || !o.In[1].Type.Shape.Equal(y.Type.Shape) {
				return nil, fmt.Errorf("expected gradients of the shapes %v and %v, got %v and %v", o.In[0].Type.Shape, o.In[1].Type.Shape, x.Type.Shape, y.Type.Shape)
			}
		}
		if err := images(all...); err != nil {
			return nil, err
		}
		attrs, err := windowAttrs(o.Node)
		if err != nil {
			return nil, err
		}
		s := &step{t: t, o: o}
		s.calls = func() ([]kernels.Call, error) {
			w, err := attrs.Pool(x.Dims)
			if err == nil {
				err = checkWindow(w, y.Dims)
			}
			if err != nil {
				return nil, err
			}
			p := kernels.Pool{Window: w, BFloat16: isBFloat16(x)}
			switch inputs {
			case 1:
				p.X, p.Y = s.in(0), s.out(0)
			case 2:
				p.DX, p.DY = s.out(0), s.in(1)
			case 3:
				p.X, p.Y, p.DX, p.DY = s.in(0), s.in(1), s.out(0), s.in(2)
			}
			return calls(p), nil
		}
		return s, nil
	}
}
