package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// OwnConvolutions returns Convolutions by the kernels of module conv. They never round numbers, whatever the precision.
func OwnConvolutions(l *kernels.Library) Convolutions { return ownConvolutions{l} }

type ownConvolutions struct{ l *kernels.Library }

// Window returns the convolution's geometry for kernels of the host and the GPU.
func (c Convolution) Window() host.Window {
	return host.Window{Batch: c.Batch, InH: c.InH, InW: c.InW, InC: c.InC, OutH: c.OutH, OutW: c.OutW, OutC: c.OutC, KH: c.H, KW: c.W,
		StrideH: c.StrideH, StrideW: c.StrideW, DilH: c.DilationH, DilW: c.DilationW, PadTop: c.PadTop, PadLeft: c.PadLeft}
}

// Check fails if types or sizes do not match.
func (c Convolution) Check() error {
	w := c.Window()
	switch {
	case c.Type != tensor.Float32 && c.Type != tensor.BFloat16:
		return fmt.Errorf("convolution of %v: expected float32 or bfloat16", c.Type)
	case c.Bias != 0 && c.BiasType != c.Type:
		return fmt.Errorf("convolution of %v: expected a bias of the same type, got %v", c.Type, c.BiasType)
	case c.Groups > 1:
		return fmt.Errorf("convolution in %d groups: expected 1", c.Groups)
	case min(w.Batch, w.InH, w.InW, w.OutH, w.OutW) < 0 || min(w.InC, w.OutC, w.KH, w.KW, w.StrideH, w.StrideW, w.DilH, w.DilW) < 1:
		return fmt.Errorf("convolution %+v: expected sizes >= 0, and channels, filter, strides and dilations >= 1", w)
	}
	return c.own().Check()
}

// FloatGradient reports whether a filter's gradient is float32 but the images are not.
func (c Convolution) FloatGradient() bool {
	return c.Direction == FilterGradient && c.Type != tensor.Float32 && c.GradientType == tensor.Float32
}

// own returns the convolution for the kernels.
func (c Convolution) own() kernels.Conv {
	return kernels.Conv{Window: c.Window(), X: c.X, W: c.Filter, Y: c.Y, Bias: c.Bias, Relu: c.Relu, BFloat16: c.Type == tensor.BFloat16, FloatW: c.FloatGradient(), Scratch: c.Workspace}
}

// Workspace implements Convolutions.
func (o ownConvolutions) Workspace(c Convolution) int {
	if c.Check() != nil || c.Direction != FilterGradient {
		return 0 // Plan returns the error
	}
	return c.own().ScratchBytes()
}

// Plan implements Convolutions.
func (o ownConvolutions) Plan(c Convolution) (Launch, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if n := o.Workspace(c); c.WorkspaceBytes < n {
		return nil, fmt.Errorf("convolution: expected a workspace of %d bytes, got %d", n, c.WorkspaceBytes)
	}
	calls := map[Direction]func(kernels.Conv) []kernels.Call{Forward: kernels.Conv.Forward, InputGradient: kernels.Conv.InputGrad, FilterGradient: kernels.Conv.FilterGrad}
	return Sequence(Launches(o.l, calls[c.Direction](c.own())...)), nil
}
