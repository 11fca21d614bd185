package kernels

import (
	_ "embed"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// Kernel describes how to call a __global__ function.
type Kernel struct {
	Name string
	// Params has a letter for each argument: p pointer, l long long, i int, f float.
	Params string
}

// Module is kernels that are compiled together.
type Module struct {
	Name    string
	Text    string // complete, with the prelude
	Kernels []Kernel
}

// Source returns the module as the compiler's input.
func (m Module) Source() nvrtc.Source { return nvrtc.Source{Name: m.Name, Text: m.Text} }

// Call is one launch of a kernel.
type Call struct {
	Kernel string
	driver.Launch
}

//go:embed src/prelude.cu
var prelude string

//go:embed src/gemm.cu
var gemmSource string

//go:embed src/gemm_tensor.cu
var gemmTensorSource string

//go:embed src/reduce.cu
var reduceSource string

//go:embed src/softmax.cu
var softmaxSource string

//go:embed src/norm.cu
var normSource string

//go:embed src/window.cu
var windowSource string

//go:embed src/pool.cu
var poolSource string

//go:embed src/conv.cu
var convSource string

//go:embed src/depthwise.cu
var depthwiseSource string

//go:embed src/runs.cu
var runsSource string

//go:embed src/sort.cu
var sortSource string

//go:embed src/index.cu
var indexSource string

//go:embed src/ragged.cu
var raggedSource string

//go:embed src/optim.cu
var optimSource string

//go:embed src/random.cu
var randomSource string

//go:embed src/chain.cu
var chainSource string

//go:embed src/layout.cu
var layoutSource string

const (
	gemmParams = "ppppllllllllllii"
)

// Modules returns all modules of this package.
func Modules() []Module {
	return []Module{
		module("gemm", mmaSource+gemmSource+gemmTensorSource, Kernel{"gemm_f32_128", gemmParams}, Kernel{"gemm_f32_64", gemmParams}, Kernel{"gemm_bf16_64", gemmParams},
			Kernel{"gemm_bf16_tensor", gemmParams}, Kernel{"gemm_tf32_tensor", gemmParams}, Kernel{"gemm_f64_64", gemmParams}, Kernel{"gemm_finish_f32", "ppplllllii"}, Kernel{"gemm_finish_f64", "ppplllllii"}),
		module("reduce", reduceSource, reduceKernels()...), module("fold", foldSource, foldKernels()...),
		module("softmax", softmaxSource, Kernel{"softmax_warp", "pplli"}, Kernel{"softmax_block", "pplli"},
			Kernel{"sparse_xent_warp_i32", "ppppplll"}, Kernel{"sparse_xent_warp_i64", "ppppplll"},
			Kernel{"sparse_xent_block_i32", "ppppplll"}, Kernel{"sparse_xent_block_i64", "ppppplll"},
			Kernel{"xent_warp", "ppppll"}, Kernel{"xent_block", "ppppll"}),
		module("norm", normSource, normKernels()...),
		module("pool", windowSource+poolSource, poolKernels()...), module("conv", windowSource+mmaSource+convSource+convTensorSource, convKernels()...),
		module("depthwise", windowSource+depthwiseSource, depthwiseKernels()...),
		module("sort", runsSource+sortSource, sortKernels()...), module("index", indexSource, indexKernels()...), module("ragged", raggedSource, raggedKernels()...),
		module("optim", runsSource+optimSource, updateKernels()...),
		module("layout", layoutSource, layoutKernels()...), module("peers", peersSource, peersKernels()...),
		module("random", randomSource, Kernel{"random_uniform", "pppl"}, Kernel{"random_normal", "pppl"}, Kernel{"random_truncated", "pppl"}),
	}
}

func module(name, text string, kernels ...Kernel) Module {
	return Module{Name: name, Text: prelude + text, Kernels: kernels}
}

// call makes a Call of arguments that are driver.Ptr, int (long long), int32 (int) or float32.
func call(kernel string, grid, block driver.Dim, args ...any) Call {
	c := Call{Kernel: kernel, Launch: driver.Launch{Grid: grid, Block: block, Args: make([]driver.Arg, len(args))}}
	for i, a := range args {
		switch v := a.(type) {
		case driver.Ptr:
			c.Args[i] = driver.Address(v)
		case int:
			c.Args[i] = driver.Int64(int64(v))
		case int32:
			c.Args[i] = driver.Int32(v)
		case float32:
			c.Args[i] = driver.Float32(v)
		default:
			panic(fmt.Sprintf("argument %d of %s: %T", i, kernel, a)) // a bug in this package
		}
	}
	return c
}

const (
	blockThreads = 256
	maxBlocks    = 8192 // most blocks of a kernel whose threads do several elements
	warpRows     = blockThreads / 32
)

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// over returns a launch with a thread for each of n elements, as far as the grid allows.
func over(n int) (grid, block driver.Dim) {
	return driver.Dim{X: max(1, min(ceilDiv(n, blockThreads), maxBlocks))}, driver.Dim{X: blockThreads}
}

// flag returns a bool as a kernel's argument.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
