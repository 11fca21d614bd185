package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// convOps are convolutions over NHWC images.
var convOps = map[*ops.Def]lowering{
	ops.Conv2D:               lowerConv(Forward),
	ops.FusedConv2D:          lowerConv(Forward),
	ops.Conv2DBackpropInput:  lowerConv(InputGradient),
	ops.Conv2DBackpropFilter: lowerConv(FilterGradient),
}

// convolution is the step of a convolution or its gradient; x, filter and y are the operands in these roles.
type convolution struct {
	t            *Target
	o            *engine.Operation
	direction    Direction
	x, filter, y *engine.Operand
	bias         *engine.Operand
	relu         bool
	attrs        *window.Attrs
}

func lowerConv(d Direction) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		c, err := newConvolution(t, o, d)
		if err != nil {
			return nil, err
		}
		f := c.filter.Type.Shape.Dims
		if f[2] != c.x.Type.Shape.Dims[3] || f[3] != c.y.Type.Shape.Dims[3] {
			return nil, fmt.Errorf("filter %v does not fit images %v and results %v", c.filter.Type.Shape, c.x.Type.Shape, c.y.Type.Shape)
		}
		return c, c.epilogue()
	}
}

// newConvolution finds the operands, without an input that only has sizes.
func newConvolution(t *Target, o *engine.Operation, d Direction) (*convolution, error) {
	c := &convolution{t: t, o: o, direction: d}
	inputs := 3
	if d == Forward {
		inputs = 2
	}
	if err := need(o, inputs, 1); err != nil {
		return nil, err
	}
	switch d {
	case Forward:
		c.x, c.filter, c.y = o.In[0], o.In[1], o.Out[0]
	case InputGradient:
		c.x, c.filter, c.y = o.Out[0], o.In[1], o.In[2]
	default:
		c.x, c.filter, c.y = o.In[0], o.Out[0], o.In[2]
	}
	all := []*engine.Operand{c.x, c.y, c.filter}
	if d == FilterGradient && c.filter.Type.DType == tensor.Float32 && c.filter.Type.Shape.Rank() == 4 {
		all = all[:2] // sums are float32, so the gradient can be, too
	}
	if err := images(all...); err != nil {
		return nil, err
	}
	var err error
	c.attrs, err = windowAttrs(o.Node)
	return c, err
}

// epilogue reads the attribute fused_ops.
func (c *convolution) epilogue() error {
	fused, _ := c.o.Node.Attrs["fused_ops"].([][]byte)
	for _, part := range fused {
		switch name := string(part); {
		case name == "BiasAdd" && c.bias == nil && !c.relu && len(c.o.In) == 3:
			c.bias = c.o.In[2]
			b, y := c.bias.Type, c.y.Type
			if b.Shape.Rank() != 1 || b.Shape.Dims[0] != y.Shape.Dims[3] || b.DType != y.DType {
				return fmt.Errorf("expected a bias of type %v for the last dimension of %v, got %v %v", y.DType, y.Shape, b.DType, b.Shape)
			}
		case name == "Relu" && !c.relu:
			c.relu = true
		default:
			return fmt.Errorf("fused_ops %q: expected BiasAdd, Relu, or both", fused)
		}
	}
	return nil
}

// at returns the convolution of operands of the given dimensions, without addresses.
func (c *convolution) at(x, filter, y []int) (Convolution, error) {
	w, err := c.attrs.Conv2D(x, filter)
	if err == nil {
		err = checkWindow(w, y)
	}
	v := Convolution{Direction: c.direction, Type: c.x.Type.DType, GradientType: c.filter.Type.DType, Precision: c.t.Precision, Batch: w.Batch, InH: w.InH, InW: w.InW, InC: w.InC,
		OutH: w.OutH, OutW: w.OutW, OutC: w.OutC, H: w.KH, W: w.KW, StrideH: w.StrideH, StrideW: w.StrideW,
		DilationH: w.DilH, DilationW: w.DilW, PadTop: w.PadTop, PadLeft: w.PadLeft, Relu: c.relu}
	if c.bias != nil {
		v.Bias, v.BiasType = max(Address(c.bias), 256), c.bias.Type.DType // before it has an address: any aligned one
	}
	return v, err
}

// Workspace implements Step.
func (c *convolution) Workspace(batch int) int {
	v, err := c.at(c.x.Type.Shape.At(batch), c.filter.Type.Shape.At(batch), c.y.Type.Shape.At(batch))
	if err != nil {
		return 0 // Bind returns the error
	}
	return c.t.convolutions().Workspace(v)
}

// Bind implements Step.
func (c *convolution) Bind() ([]Launch, error) {
	v, err := c.at(c.x.Dims, c.filter.Dims, c.y.Dims)
	if err != nil {
		return nil, err
	}
	v.X, v.Filter, v.Y = Address(c.x), Address(c.filter), Address(c.y)
	v.Workspace, v.WorkspaceBytes = Address(&c.o.Workspace), c.o.Workspace.N
	l, err := c.t.convolutions().Plan(v)
	if err != nil {
		return nil, err
	}
	return []Launch{l}, nil
}

// convolutions returns the target's Convolutions, or own kernels.
func (t *Target) convolutions() Convolutions {
	if t.Convs == nil {
		return OwnConvolutions(t.Kernels)
	}
	return t.Convs
}

// isBFloat16 reports which of the two types of images an operand has.
func isBFloat16(o *engine.Operand) bool { return o.Type.DType == tensor.BFloat16 }
