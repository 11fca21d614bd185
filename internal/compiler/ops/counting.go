package ops

// What counts and finds elements.
var (
	HistogramFixedWidth = define("HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> out: dtype", "T: {int32, int64, float32, float64}", "dtype: indices = int32")
	NthElement          = define("NthElement(input: T, n: int32) -> values: T", "reverse: bool = false", "T: reals")
	IsotonicRegression  = define("IsotonicRegression(input: T) -> output: output_dtype, segments: int32", "T: reals", "output_dtype: {float16, bfloat16, float32, float64} = float32")
	UnravelIndex        = define("UnravelIndex(indices: Tidx, dims: Tidx) -> output: Tidx", "Tidx: indices = int32")
)

// What scatters onto a copy of a tensor.
var (
	ScatterNdNonAliasingAdd = define("ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> output: T",
		"T: {float32, float64, int32, uint8, int16, int8, complex64, complex128, int64, bfloat16, uint16, float16, uint32, uint64, bool}", "Tindices: indices")
	TensorScatterSub = define("TensorScatterSub(tensor: T, indices: Tindices, updates: T) -> output: T", "Tindices: indices").sameShape()
	TensorScatterMax = define("TensorScatterMax(tensor: T, indices: Tindices, updates: T) -> output: T", "Tindices: indices").sameShape()
	TensorScatterMin = define("TensorScatterMin(tensor: T, indices: Tindices, updates: T) -> output: T", "Tindices: indices").sameShape()
)

// Pools whose sizes are inputs.
var (
	MaxPoolV2 = define("MaxPoolV2(input: T, ksize: int32, strides: int32) -> output: T",
		"T: {float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16} = float32", "padding: {'SAME', 'VALID'}", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
	MaxPoolGradV2 = define("MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> output: T",
		"padding: {'SAME', 'VALID'}", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "T: reals = float32")
	SparseBincount = define("SparseBincount(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T) -> output: T", "Tidx: indices", "T: {int32, int64, float32, float64}", "binary_output: bool = false").grows()
)
