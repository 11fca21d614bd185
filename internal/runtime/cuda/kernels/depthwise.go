package kernels

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Depthwise is a convolution of each channel by filters of its own: W is [KH, KW, InC, m] with m = OutC/InC, and channel c
// gives the outputs c*m to c*m+m-1. Otherwise it is like Conv without an epilogue.
type Depthwise Conv

// Check fails if the sizes are too large for the kernels.
func (d Depthwise) Check() error { return checkImages(d.Window) }

// Forward sets Y to the convolution.
func (d Depthwise) Forward() []Call {
	g := d.Window
	return d.each("depthwise", g.Batch*g.OutH*g.OutW*g.OutC, d.Y, d.X, d.W)
}

// InputGrad sets X to the gradient of the images.
func (d Depthwise) InputGrad() []Call {
	g := d.Window
	return d.each("depthwise_input_grad", g.Batch*g.InH*g.InW*g.InC, d.X, d.Y, d.W)
}

func (d Depthwise) each(kernel string, n int, pointers ...any) []Call {
	if n == 0 {
		return nil
	}
	grid, block := over(n)
	return []Call{call(kernel+typeSuffix(d.BFloat16), grid, block, append(pointers, geometry(d.Window)...)...)}
}

// parts returns the number of parts of the rows of outputs for the filter's gradient.
func (d Depthwise) parts() int {
	const rowsOfPart = 16
	g := d.Window
	blocks := ceilDiv(g.OutC, tileColumns) * g.KH * g.KW
	rows := g.Batch * g.OutH
	return min(max(1, min(ceilDiv(4*convBlocks, blocks), ceilDiv(rows, rowsOfPart))), rows)
}

// ScratchBytes returns the bytes of scratch memory for FilterGrad.
func (d Depthwise) ScratchBytes() int { return 4 * d.parts() * d.weights() }

func (d Depthwise) weights() int { return d.Window.KH * d.Window.KW * d.Window.OutC }

// FilterGrad sets W to the gradient of the filters.
func (d Depthwise) FilterGrad() []Call {
	g, parts := d.Window, d.parts()
	var calls []Call
	if parts > 0 {
		grid := driver.Dim{X: ceilDiv(g.OutC, tileColumns), Y: parts, Z: g.KH * g.KW}
		calls = append(calls, call("depthwise_filter_grad"+typeSuffix(d.BFloat16), grid, driver.Dim{X: tileColumns, Y: tileRows}, append([]any{d.Scratch, d.X, d.Y}, geometry(g)...)...))
	}
	return append(calls, sumParts(d.W, d.Scratch, d.weights(), parts, d.BFloat16 && !d.FloatW))
}

func depthwiseKernels() []Kernel {
	return slices.Concat(imageKernels("depthwise", "ppp"), imageKernels("depthwise_input_grad", "ppp"), imageKernels("depthwise_filter_grad", "ppp"))
}
