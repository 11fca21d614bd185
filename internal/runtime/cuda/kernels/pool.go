package kernels

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Pool is a pooling of images X by a window, into Y. DX and DY are gradients. Numbers are float32 or bfloat16.
type Pool struct {
	Window       host.Window
	X, Y, DX, DY driver.Ptr
	BFloat16     bool
}

// Max sets Y to the largest pixel of each window.
func (p Pool) Max() []Call { return p.call("max_pool", p.pooled(), p.Y, p.X) }

// MaxGrad sets DX: each DY is added to the first largest pixel of its window.
func (p Pool) MaxGrad() []Call { return p.call("max_pool_grad", p.pixels(), p.DX, p.X, p.Y, p.DY) }

// Mean sets Y to the mean of each window's pixels inside the image.
func (p Pool) Mean() []Call { return p.call("avg_pool", p.pooled(), p.Y, p.X) }

// MeanGrad distributes each DY equally among its window's pixels inside the image.
func (p Pool) MeanGrad() []Call { return p.call("avg_pool_grad", p.pixels(), p.DX, p.DY) }

func (p Pool) pooled() int { return p.Window.Batch * p.Window.OutH * p.Window.OutW * p.Window.InC }
func (p Pool) pixels() int { return p.Window.Batch * p.Window.InH * p.Window.InW * p.Window.InC }

func (p Pool) call(kernel string, n int, pointers ...any) []Call {
	if n == 0 {
		return nil
	}
	grid, block := over(n)
	g := p.Window
	g.OutC = g.InC
	return []Call{call(kernel+typeSuffix(p.BFloat16), grid, block, append(pointers, geometry(g)...)...)}
}

func poolKernels() []Kernel {
	return slices.Concat(imageKernels("max_pool", "pp"), imageKernels("max_pool_grad", "pppp"), imageKernels("avg_pool", "pp"), imageKernels("avg_pool_grad", "pp"))
}

// imageKernels returns the kernels of that name for both types, with a geometry after the given parameters.
func imageKernels(name, params string) []Kernel {
	return typedKernels(name, params+"iiiiiiiiiiiiiii")
}

// typedKernels returns the kernels of that name for both types.
func typedKernels(name, params string) []Kernel {
	return []Kernel{{name + typeSuffix(false), params}, {name + typeSuffix(true), params}}
}
