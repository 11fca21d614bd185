package kernels

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Conv is a convolution of images X [Batch, InH, InW, InC] by a filter W [KH, KW, InC, OutC], with the result Y [Batch,
// OutH, OutW, OutC]. Forward writes Y. InputGrad and FilterGrad write the gradient to X or W, and Y is the gradient of the
// result. Numbers are float32 or bfloat16. Sums are float32, in an order that depends only on the sizes.
type Conv struct {
	Window   host.Window
	X, W, Y  driver.Ptr
	Bias     driver.Ptr // Forward: [OutC], or 0
	Relu     bool       // Forward
	BFloat16 bool
	FloatW   bool       // FilterGrad: W is float32 even if the images are not
	Scratch  driver.Ptr // FilterGrad: ScratchBytes of memory
}

//go:embed src/mma.cu
var mmaSource string

//go:embed src/conv_tensor.cu
var convTensorSource string

// A block's tile of results.
const (
	convRows    = 128
	convNarrow  = 32 // columns
	convWide    = 64
	convBlocks  = 264 // enough to keep a large GPU busy
	convPixels  = 512 // least pixels of a part of a filter's gradient
	convMaxPart = 1024
	convTerms   = 32 // most terms of a step; a part has whole steps
)

// Check fails if the sizes are too large for the kernels.
func (c Conv) Check() error { return checkImages(c.Window) }

// checkImages checks that the elements of an image, of a filter and the pixels of all images can be counted in 32 bits.
// Offsets of images have 64.
func checkImages(g host.Window) error {
	const most = 1<<31 - 1<<10 // leaves room for tiles beyond the end
	if max(g.InH*g.InW*g.InC, g.OutH*g.OutW*g.OutC) > most || g.KH*g.KW*max(g.InC, g.OutC) > most || g.Batch*max(g.InH*g.InW, g.OutH*g.OutW) > most {
		return fmt.Errorf("convolution of %d images %dx%dx%d into %dx%dx%d by a filter of %dx%d: expected fewer than 2^31 numbers in an image, in a filter and pixels in all: make the images or the batch smaller",
			g.Batch, g.InH, g.InW, g.InC, g.OutH, g.OutW, g.OutC, g.KH, g.KW)
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

// tiled returns the call of a kernel over the tiles of rows x cols results, in parts.
func (c Conv) tiled(kernel string, size tiling, args ...any) Call {
	grid := driver.Dim{X: ceilDiv(size.rows, convRows), Y: ceilDiv(size.cols, c.width(size.cols)), Z: size.parts}
	if c.tensor() {
		kernel += "_tensor"
	} else {
		kernel = fmt.Sprintf("%s%s_%d", kernel, c.suffix(), c.width(size.cols))
	}
	return call(kernel, grid, driver.Dim{X: blockThreads}, append(args, geometry(c.Window)...)...)
}

// tiling is the size of a matrix of results that blocks compute tile by tile.
type tiling struct{ rows, cols, parts int }

// width returns a tile's columns.
func (c Conv) width(cols int) int {
	if cols <= convNarrow && !c.BFloat16 {
		return convNarrow
	}
	return convWide
}

// tensor reports whether tensor cores can do it: threads read eight channels at once.
func (c Conv) tensor() bool { return c.BFloat16 && c.Window.InC%8 == 0 && c.Window.OutC%8 == 0 }

// geometry returns a window as the arguments of kernels.
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

// InputGrad sets X to the gradient of the images.
func (c Conv) InputGrad() []Call {
	g := c.Window
	size := tiling{g.Batch * g.InH * g.InW, g.InC, 1}
	if size.rows == 0 {
		return nil
	}
	return []Call{c.tiled("conv_backward", size, c.X, c.Y, c.W)}
}

// filterParts returns the number of parts of the pixels for the filter's gradient, and the pixels of each.
func (c Conv) filterParts() (parts, each int) {
	g := c.Window
	pixels := g.Batch * g.OutH * g.OutW
	tiles := ceilDiv(g.KH*g.KW*g.InC, convRows) * ceilDiv(g.OutC, c.width(g.OutC))
	parts = max(1, min(ceilDiv(convBlocks, tiles), ceilDiv(pixels, convPixels), convMaxPart))
	each = ceilDiv(ceilDiv(pixels, parts), convTerms) * convTerms
	if pixels == 0 {
		return 0, 0
	}
	return ceilDiv(pixels, each), each
}

// ScratchBytes returns the bytes of scratch memory for FilterGrad.
func (c Conv) ScratchBytes() int {
	parts, _ := c.filterParts()
	return 4 * parts * c.weights()
}

func (c Conv) weights() int { return c.Window.KH * c.Window.KW * c.Window.InC * c.Window.OutC }

// FilterGrad sets W to the gradient of the filter.
func (c Conv) FilterGrad() []Call {
	g := c.Window
	parts, each := c.filterParts()
	var calls []Call
	if parts > 0 {
		calls = append(calls, c.tiled("conv_filter", tiling{g.KH * g.KW * g.InC, g.OutC, parts}, c.Scratch, c.X, c.Y, int32(each)))
	}
	return append(calls, sumParts(c.W, c.Scratch, c.weights(), parts, c.BFloat16 && !c.FloatW))
}

// sumParts adds parts of n float32 each in their order.
func sumParts(dst, part driver.Ptr, n, parts int, bfloat16 bool) Call {
	grid, block := over(n)
	return call("conv_sum"+typeSuffix(bfloat16), grid, block, dst, part, n, int32(parts))
}

// Epilogue adds Bias, if there is one, to Y and applies Relu, for a convolution that was not done by Forward.
func (c Conv) Epilogue() Call {
	n := c.Window.Batch * c.Window.OutH * c.Window.OutW * c.Window.OutC
	grid, block := over(n)
	return call("conv_bias"+c.suffix(), grid, block, c.Y, c.Bias, n, int32(c.Window.OutC), flag(c.Relu))
}

func convKernels() []Kernel {
	all := slices.Concat(typedKernels("conv_sum", "ppli"), typedKernels("conv_bias", "pplii"), typedKernels("filter_pack", "ppiiiiiiii"), typedKernels("filter_unpack", "ppiiiiiiii"),
		[]Kernel{{"filter_unpack_widen", "ppiiiiiiii"}})
	for _, k := range slices.Concat(imageKernels("conv_forward", "ppppi"), imageKernels("conv_backward", "ppp"), imageKernels("conv_filter", "pppi")) {
		all = append(all, Kernel{k.Name + "_64", k.Params})
		if name, ok := strings.CutSuffix(k.Name, typeSuffix(true)); ok {
			all = append(all, Kernel{name + "_tensor", k.Params})
		} else {
			all = append(all, Kernel{k.Name + "_32", k.Params})
		}
	}
	return all
}
