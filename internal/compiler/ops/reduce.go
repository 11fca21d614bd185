package ops

// Sums and other reductions, scans and ranks.
var (
	All           = define("All(input: bool, reduction_indices: Tidx const) -> output: bool", "keep_dims: bool = false", "Tidx: indices = int32")
	Any           = define("Any(input: bool, reduction_indices: Tidx const) -> output: bool", "keep_dims: bool = false", "Tidx: indices = int32")
	EuclideanNorm = define("EuclideanNorm(input: T, reduction_indices: Tidx) -> output: T",
		"keep_dims: bool = false", "T: numbers", "Tidx: indices = int32")
	Max    = define("Max(input: T, reduction_indices: Tidx const) -> output: T", "keep_dims: bool = false", "T: reals", "Tidx: indices = int32")
	Mean   = define("Mean(input: T, reduction_indices: Tidx const) -> output: T", "keep_dims: bool = false", "T: numbers", "Tidx: indices = int32").precision(SumsUp)
	Min    = define("Min(input: T, reduction_indices: Tidx const) -> output: T", "keep_dims: bool = false", "T: reals", "Tidx: indices = int32")
	Prod   = define("Prod(input: T, reduction_indices: Tidx const) -> output: T", "keep_dims: bool = false", "T: numbers", "Tidx: indices = int32")
	Sum    = define("Sum(input: T, reduction_indices: Tidx const) -> output: T", "keep_dims: bool = false", "T: numbers", "Tidx: indices = int32").precision(SumsUp)
	ArgMax = define("ArgMax(input: T, dimension: Tidx const) -> output: output_type",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64}", "Tidx: {int16, int32, int64} = int32", "output_type: {int16, int32, int64, uint16} = int64")
	ArgMin = define("ArgMin(input: T, dimension: Tidx const) -> output: output_type",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64}", "Tidx: indices = int32", "output_type: indices = int64")
	Cumprod  = define("Cumprod(x: T, axis: Tidx const) -> out: T", "exclusive: bool = false", "reverse: bool = false", "T: numbers", "Tidx: indices = int32").sameShape()
	Cumsum   = define("Cumsum(x: T, axis: Tidx const) -> out: T", "exclusive: bool = false", "reverse: bool = false", "T: numbers", "Tidx: indices = int32").sameShape()
	InTopKV2 = define("InTopKV2(predictions: float32, targets: T, k: T) -> precision: bool", "T: indices = int32")
	TopK     = define("TopK(input: T) -> values: T, indices: int32", "k: int", "sorted: bool = true", "T: reals")
	// TopKV2 has indices of int32: graphs state no index_type, which TensorFlow has since 2.12.
	TopKV2 = define("TopKV2(input: T, k: Tk size) -> values: T, indices: int32",
		"sorted: bool = true", "T: reals", "Tk: {int16, int32, int64} = int32")
	ApproxTopK = define("ApproxTopK(input: T) -> values: T, indices: int32", "k: int", "reduction_dimension: int = -1", "recall_target: float = 0.95", "is_max_k: bool = true",
		"reduction_input_size_override: int = -1", "aggregate_to_topk: bool = true", "T: {float16, bfloat16, float32}")
	L2Loss = define("L2Loss(t: T) -> output: T", "T: floats")
	AddN   = define("AddN(inputs: N*T) -> sum: T",
		"T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, variant}").lists().sameShape().precision(Follows).onnx("Sum")
	AccumulateNV2 = define("AccumulateNV2(inputs: N*T) -> sum: T", "T: numbers", "shape: shape").sameShape()
)
