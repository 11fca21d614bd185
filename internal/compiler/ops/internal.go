package ops

// Ops that fusion makes of several: in compiled programs, or in graphs that TensorFlow's masters send.
var (
	FusedMatMul                = define("_FusedMatMul(a: T, b: T, args: num_args*T) -> product: T", "T: floats", "transpose_a: bool = false", "transpose_b: bool = false")
	FusedConv2D                = define("_FusedConv2D(input: T, filter: T, args: num_args*T) -> output: T", "T: floats")
	FusedDepthwiseConv2dNative = define("_FusedDepthwiseConv2dNative(input: T, filter: T, args: num_args*T) -> output: T", "T: floats")
	UnaryOpsComposition        = define("_UnaryOpsComposition(x: T) -> y: T", "T: floats").sameShape()
	ParallelConcatStart        = define("_ParallelConcatStart() -> output: dtype", "shape: shape")
	ParallelConcatUpdate       = define("_ParallelConcatUpdate(value: T, update: T) -> output: T", "loc: int").sameShape()
	ParallelConcat             = define("ParallelConcat(values: N*T) -> output: T", "shape: shape")
	FusedBatchNormEx           = define("_FusedBatchNormEx(x: T, scale: U, offset: U, mean: U, variance: U, side_input: num_side_inputs*T) -> " +
		"y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U")

	// NearestBFloat16, TruncatedBFloat16 and NearestFloat16 round to numbers of 16 bits, which stay float32.
	NearestBFloat16   = define("_NearestBFloat16(x: T) -> y: T", "T: {float32}").sameShape()
	TruncatedBFloat16 = define("_TruncatedBFloat16(x: T) -> y: T", "T: {float32}").sameShape()
	NearestFloat16    = define("_NearestFloat16(x: T) -> y: T", "T: {float32}").sameShape()

	// ElementwiseRegion is a part of a graph that works element by element: see NewChain in the GPU's kernels.
	ElementwiseRegion = define("_Elementwise(sources: [Tin]) -> results: [Tout]")
	// Guard gives 0 where updates are to be made.
	Guard = define("_Guard(made: bool) -> guard: int64")
	// RowNumbers gives the row of each value of a ragged column, RaggedCombine the sums of its rows, and RaggedSpread a
	// row's value for each of its values.
	RowNumbers    = define("_RowNumbers(ids: Tids, offsets: int64) -> rows: int32")
	RaggedCombine = define("_RaggedCombine(values: T, args: [Targs]) -> sums: T")
	RaggedSpread  = define("_RaggedSpread(rows: T, ids: Tids, offsets: int64) -> values: T")
	// SumByIndex sums rows of equal index: see graph.SumByIndex.
	SumByIndex = define("_SumByIndex(values: T, indices: Tindices) -> sums: T, first: Tindices", "rows: int")
	// Attention is softmax(q·kᵀ/√depth)·v of heads, [batch, length, heads, depth], without the matrix of scores; keys and
	// values may have fewer heads. After v come, where masked, which query sees which key (bool, of rank 4, broadcasting),
	// and where drop is not 0, key and counter of the random numbers. lse is [batch, heads, queries]; see kernels.Attention.
	Attention = define("_Attention(q: T, k: T, v: T, args: [Targs]) -> out: T, lse: T", "T: floats", "causal: bool = false", "masked: bool = false", "drop: float = 0")
	// AttentionGrad gives the gradients of q, k and v.
	AttentionGrad = define("_AttentionGrad(q: T, k: T, v: T, out: T, lse: T, dout: T, args: [Targs]) -> dq: T, dk: T, dv: T",
		"T: floats", "causal: bool = false", "masked: bool = false", "drop: float = 0")
	// IntegerMatMul is (a-zero_a)·(b-zero_b) of 8-bit integers, plus bias, in 32-bit sums that wrap around. A float32 y is these sums
	// times scale, plus add. An 8-bit y is that result rounded to the nearest integer, plus zero, clamped to the type's limits. zero_a
	// and zero have one element, zero_b and scale one or one for each column, bias and add none or one for each column.
	IntegerMatMul = define("_IntegerMatMul(a: Ta, b: Tb, zero_a: int32, zero_b: int32, bias: int32, scale: float32, add: float32, zero: int32) -> y: Tout",
		"Ta: {int8, uint8}", "Tb: {int8, uint8}", "Tout: {int8, uint8, int32, float32} = int32").heavy()
	// IntegerConv2D is IntegerMatMul's convolution of images with a filter, whose outputs are the columns; images are padded with zero_a.
	IntegerConv2D = define("_IntegerConv2D(a: Ta, b: Tb, zero_a: int32, zero_b: int32, bias: int32, scale: float32, add: float32, zero: int32) -> y: Tout",
		"Ta: {int8, uint8}", "Tb: {int8, uint8}", "Tout: {int8, uint8, int32, float32} = int32",
		"strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "dilations: list(int) = [1, 1, 1, 1]").heavy()
)

// Divides is an attribute of ResizeBilinear: the position of a pixel is divided by the scale, as in ONNX Runtime. TensorFlow
// multiplies, and the float32 results differ. It is also one of Range: the number of steps is a quotient in float64, as in ONNX Runtime, not in the range's type.
const Divides = "_divides"
