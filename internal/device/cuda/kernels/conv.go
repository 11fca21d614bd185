package kernels

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/device/cuda/driver"
	host "github.com/goestimator/goestimator/internal/kernels"
)

// Conv is a convolution of images X [Batch, InH, InW, InC] by a filter W [KH, KW, InC, OutC], with the result Y [Batch,
// OutH, OutW, OutC]. Which one a call writes is in its name; there it stands for a gradient, and so does Y where it is read.
// Numbers are float32 or bfloat16; sums are float32 and go in an order that the sizes alone determine.
type Conv struct {
	Window   host.Window
	X, W, Y  driver.Ptr
	Bias     driver.Ptr // Forward: [OutC], or 0
	Relu     bool       // Forward
	BFloat16 bool
	FloatW   bool       // FilterGrad: W is float32 whatever the images are
	Scratch  driver.Ptr // FilterGrad: ScratchBytes of memory
}

// A block's tile of results.
const (
	convRows    = 128
	convNarrow  = 32 // columns
	convWide    = 64
	convBlocks  = 264 // enough to keep a large GPU busy
	convPixels  = 512 // of a part of a filter's gradient, at least
	convMaxPart = 1024
)

// Check fails where the sizes are beyond what the kernels can address.
func (c Conv) Check() error { return checkImages(c.Window) }

// checkImages sees that an image's pixels have 32-bit offsets and each size fits into 32 bits.
func checkImages(g host.Window) error {
	const most = 1<<31 - 1
	if g.InH*g.InW*g.InC > most || g.OutH*g.OutW*g.OutC > most || g.Batch > most {
		return fmt.Errorf("convolution of images %dx%dx%d into %dx%dx%d: expected fewer than 2^31 numbers in each: make them smaller", g.InH, g.InW, g.InC, g.OutH, g.OutW, g.OutC)
	}
	return nil
}

func (c Conv) suffix() string { return typeSuffix(c.BFloat16) }

func typeSuffix(bfloat16 bool) string {
	if bfloat16 {
		return "_bf16"
	}
	return "_f32"
}

// tiled is a kernel over the tiles of rows x cols results, in parts.
func (c Conv) tiled(kernel string, size tiling, args ...any) Call {
	grid := driver.Dim{X: ceilDiv(size.rows, convRows), Y: ceilDiv(size.cols, size.width()), Z: size.parts}
	return call(fmt.Sprintf("%s%s_%d", kernel, c.suffix(), size.width()), grid, driver.Dim{X: blockThreads}, append(args, geometry(c.Window)...)...)
}

// tiling is a matrix of results that blocks do tile by tile.
type tiling struct{ rows, cols, parts int }

func (t tiling) width() int {
	if t.cols <= convNarrow {
		return convNarrow
	}
	return convWide
}

// geometry is a window as kernels take it.
func geometry(g host.Window) []any {
	var args []any
	for _, v := range []int{g.Batch, g.InH, g.InW, g.InC, g.OutH, g.OutW, g.OutC, g.KH, g.KW, g.StrideH, g.StrideW, g.DilH, g.DilW, g.PadTop, g.PadLeft} {
		args = append(args, int32(v))
	}
	return args
}

// Forward sets Y to the convolution plus Bias, not below 0 with Relu.
func (c Conv) Forward() []Call {
	g := c.Window
	size := tiling{g.Batch * g.OutH * g.OutW, g.OutC, 1}
	if size.rows == 0 {
		return nil
	}
	return []Call{c.tiled("conv_forward", size, c.Y, c.X, c.W, c.Bias, flag(c.Relu))}
}

// InputGrad sets X to the gradient by the images.
func (c Conv) InputGrad() []Call {
	g := c.Window
	size := tiling{g.Batch * g.InH * g.InW, g.InC, 1}
	if size.rows == 0 {
		return nil
	}
	return []Call{c.tiled("conv_backward", size, c.X, c.Y, c.W)}
}

// filterParts is how many parts the pixels come in for the filter's gradient, of how many each.
func (c Conv) filterParts() (parts, each int) {
	g := c.Window
	pixels := g.Batch * g.OutH * g.OutW
	t := tiling{rows: g.KH * g.KW * g.InC, cols: g.OutC}
	tiles := ceilDiv(t.rows, convRows) * ceilDiv(t.cols, t.width())
	parts = max(1, min(ceilDiv(convBlocks, tiles), ceilDiv(pixels, convPixels), convMaxPart))
	each = ceilDiv(ceilDiv(pixels, parts), 16) * 16
	if pixels == 0 {
		return 0, 0
	}
	return ceilDiv(pixels, each), each
}

// ScratchBytes is the memory that FilterGrad needs besides.
func (c Conv) ScratchBytes() int {
	parts, _ := c.filterParts()
	return 4 * parts * c.weights()
}

func (c Conv) weights() int { return c.Window.KH * c.Window.KW * c.Window.InC * c.Window.OutC }

// FilterGrad sets W to the gradient by the filter.
func (c Conv) FilterGrad() []Call {
	g := c.Window
	parts, each := c.filterParts()
	var calls []Call
	if parts > 0 {
		calls = append(calls, c.tiled("conv_filter", tiling{g.KH * g.KW * g.InC, g.OutC, parts}, c.Scratch, c.X, c.Y, each))
	}
	return append(calls, sumParts(c.W, c.Scratch, c.weights(), parts, c.BFloat16 && !c.FloatW))
}

// sumParts adds parts of n float32 each in their order.
func sumParts(dst, part driver.Ptr, n, parts int, bfloat16 bool) Call {
	grid, block := over(n)
	return call("conv_sum"+typeSuffix(bfloat16), grid, block, dst, part, n, int32(parts))
}

// Epilogue adds Bias to Y, where there is one, and applies Relu: what follows a Forward that something else has done.
func (c Conv) Epilogue() Call {
	n := c.Window.Batch * c.Window.OutH * c.Window.OutW * c.Window.OutC
	grid, block := over(n)
	return call("conv_bias"+c.suffix(), grid, block, c.Y, c.Bias, n, int32(c.Window.OutC), flag(c.Relu))
}

func convKernels() []Kernel {
	all := slices.Concat(typedKernels("conv_sum", "ppli"), typedKernels("conv_bias", "pplii"), typedKernels("filter_pack", "ppiiiiiiii"), typedKernels("filter_unpack", "ppiiiiiiii"),
		[]Kernel{{"filter_unpack_widen", "ppiiiiiiii"}})
	for _, k := range slices.Concat(imageKernels("conv_forward", "ppppi"), imageKernels("conv_backward", "ppp"), imageKernels("conv_filter", "pppl")) {
		all = append(all, Kernel{k.Name + "_32", k.Params}, Kernel{k.Name + "_64", k.Params})
	}
	return all
}
