package kernels

import "github.com/goestimator/goestimator/internal/runtime/cuda/driver"

// GemmType is the type that a product multiplies, and the type of its sums.
type GemmType int

// The types of products.
const (
	GemmFloat32  GemmType = iota // sums in float32
	GemmBFloat16                 // sums in float32
	GemmFloat64                  // sums in float64
)

// Gemm is a batch of products Out [M, N] = op(A) * op(B), row-major: A is [M, K], or [K, M] if transposed, and B is [K, N],
// or [N, K] if transposed. Leading dimensions and strides between the products of a batch are in elements; the strides of A
// and B may be 0. A Bias [N] of Out's type, if set, is added to each row, then Relu clips below zero. Out must not be an
// operand.
type Gemm struct {
	Out, A, B, Bias driver.Ptr
	Scratch         driver.Ptr // ScratchSize bytes, ideally ScratchBytes
	ScratchSize     int
	Type            GemmType
	BFloat16Out     bool // products of bfloat16: rounds the sums; else Out has the sums' type

	M, N, K                   int
	LDA, LDB, LDOut           int
	Batch                     int // products, at least 1
	StrideA, StrideB, StrideO int
	TransA, TransB, Relu      bool

	TF32 bool // float32 factors may be rounded to 10 bits of mantissa
}

// Tiles and the splitting of sums depend only on sizes, so that results are the same bits on every GPU.
const (
	largeTile  = 128
	smallTile  = 64
	gemmSlice  = 16
	partLength = 128 // least length of a part along k
	maxGrid    = 1<<31 - 1
)

// flags of gemm.cu.
const (
	gemmTransA = 1 << iota
	gemmTransB
	gemmRelu
	gemmBF16Out
	gemmQuadsA
	gemmQuadsB
	gemmQuadsOut
)

func (g Gemm) tiles(side int) int { return ceilDiv(g.M, side) * ceilDiv(g.N, side) }

// tensor reports whether tensor cores do it, even if a good part of their tiles, but not most, is beyond the result.
func (g Gemm) tensor() bool {
	return (g.Type == GemmBFloat16 || g.Type == GemmFloat32 && g.TF32) && min(g.M, g.N) >= smallTile/4 && max(g.M, g.N) >= smallTile
}

// side returns the side of a tile: large if there are enough tiles, or if both dimensions fill them and k can be split.
func (g Gemm) side() int {
	switch {
	case g.tensor():
		return largeTile
	case g.Type == GemmFloat64 || min(g.M, g.N) <= smallTile:
		return smallTile
	case g.tiles(largeTile)*g.Batch >= enough/2 || g.K >= 16*partLength:
		return largeTile
	}
	return smallTile
}

// parts returns the number of parts of k, enough to fill a GPU.
func (g Gemm) parts() int {
	blocks := max(1, g.tiles(g.side())*g.Batch)
	return max(1, min(enough/blocks, g.K/partLength, maxParts))
}

func (g Gemm) accumulator() int {
	if g.Type == GemmFloat64 {
		return 8
	}
	return 4
}

func (g Gemm) empty() bool { return g.M == 0 || g.N == 0 || g.Batch == 0 }

// partBytes returns the bytes of one part's results.
func (g Gemm) partBytes() int { return g.Batch * g.M * g.N * g.accumulator() }

// ScratchBytes returns the bytes of scratch memory that the calls can use, 0 for none.
func (g Gemm) ScratchBytes() int {
	if p := g.parts(); p > 1 && !g.empty() {
		return p * g.partBytes()
	}
	return 0
}

// Calls returns the launches: none if the result is empty, two if k is split.
func (g Gemm) Calls() []Call {
	if g.empty() {
		return nil
	}
	parts, side := max(1, min(g.parts(), g.ScratchSize/g.partBytes())), g.side()
	out, bias, flags := g.Out, g.Bias, g.flags()
	if parts > 1 {
		out, bias = g.Scratch, 0
		flags = flags&^(gemmQuadsOut|gemmRelu|gemmBF16Out) | bit(g.N%4 == 0 && g.Scratch%16 == 0, gemmQuadsOut)
	}
	grid := driver.Dim{X: min(g.tiles(side), maxGrid), Z: min(g.Batch*parts, maxGridZ)}
	first := call(g.kernel(side), grid, driver.Dim{X: blockThreads}, out, g.A, g.B, bias, g.M, g.N, g.K, g.LDA, g.LDB, g.LDOut,
		g.StrideA, g.StrideB, g.StrideO, g.Batch, int32(parts), flags)
	if parts == 1 {
		return []Call{first}
	}
	return []Call{first, g.finish(g.Scratch, parts)}
}

// Epilogue adds the bias and clips, in place, for a product that was computed elsewhere into Out, without gaps, in the type
// of the sums.
func (g Gemm) Epilogue() Call {
	return g.finish(g.Out, 1)
}

func (g Gemm) finish(parts driver.Ptr, n int) Call {
	grid, block := over(g.Batch * g.M * g.N)
	name := "gemm_finish_f32"
	if g.Type == GemmFloat64 {
		name = "gemm_finish_f64"
	}
	return call(name, grid, block, g.Out, parts, g.Bias, g.M, g.N, g.LDOut, g.StrideO, g.Batch, int32(n), g.flags())
}

func (g Gemm) kernel(side int) string {
	name := map[GemmType]string{GemmFloat32: "gemm_f32", GemmBFloat16: "gemm_bf16", GemmFloat64: "gemm_f64"}[g.Type]
	switch {
	case g.tensor() && g.Type == GemmFloat32:
		return "gemm_tf32_tensor"
	case g.tensor():
		return name + "_tensor"
	case side == largeTile:
		return name + "_128"
	}
	return name + "_64"
}

func (g Gemm) flags() int32 {
	in, out := g.accumulator(), g.accumulator()
	if g.Type == GemmBFloat16 {
		in = 2
	}
	if g.BFloat16Out {
		out = 2
	}
	quads := func(p driver.Ptr, ld, stride, size int) bool {
		return ld%4 == 0 && stride%4 == 0 && int(p)%min(4*size, 16) == 0
	}
	return bit(g.TransA, gemmTransA) | bit(g.TransB, gemmTransB) | bit(g.Relu, gemmRelu) | bit(g.BFloat16Out, gemmBF16Out) |
		bit(quads(g.A, g.LDA, g.StrideA, in), gemmQuadsA) | bit(quads(g.B, g.LDB, g.StrideB, in), gemmQuadsB) |
		bit(quads(g.Out, g.LDOut, g.StrideO, out), gemmQuadsOut)
}

func bit(on bool, b int32) int32 {
	if on {
		return b
	}
	return 0
}
