package ops

// Counts of values, and arithmetic of few types.
var (
	DenseCountSparseOutput  = define("DenseCountSparseOutput(values: T, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64", "T: indices", "minlength: int = -1", "maxlength: int = -1", "binary_output: bool", "output_type: {int32, int64, float32, float64}")
	SparseCountSparseOutput = define("SparseCountSparseOutput(indices: int64, values: T, dense_shape: int64, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64", "T: indices", "minlength: int = -1", "maxlength: int = -1", "binary_output: bool", "output_type: {int32, int64, float32, float64}").grows()
	RaggedCountSparseOutput = define("RaggedCountSparseOutput(splits: int64, values: T, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64", "T: indices", "minlength: int = -1", "maxlength: int = -1", "binary_output: bool", "output_type: {int32, int64, float32, float64}")
	PopulationCount         = define("PopulationCount(x: T) -> y: uint8", "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").sameShape()
	Cross                   = define("Cross(a: T, b: T) -> product: T", "T: reals").sameShape()
	CumulativeLogsumexp     = define("CumulativeLogsumexp(x: T, axis: Tidx) -> out: T", "exclusive: bool = false", "reverse: bool = false", "T: floats", "Tidx: indices = int32").sameShape()
)
