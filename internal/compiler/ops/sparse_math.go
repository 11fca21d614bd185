package ops

// What computes with sparse tensors, and gradients of that.
var (
	SparseReduceSum = define("SparseReduceSum(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output: T",
		"keep_dims: bool = false", "T: numbers")
	SparseReduceMax       = define("SparseReduceMax(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output: T", "keep_dims: bool = false", "T: reals")
	SparseReduceSumSparse = define("SparseReduceSumSparse(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output_indices: int64, output_values: T, output_shape: int64",
		"keep_dims: bool = false", "T: numbers")
	SparseReduceMaxSparse = define("SparseReduceMaxSparse(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output_indices: int64, output_values: T, output_shape: int64",
		"keep_dims: bool = false", "T: reals")
	SparseAdd = define("SparseAdd(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, thresh: Treal) -> sum_indices: int64, sum_values: T, sum_shape: int64",
		"T: numbers", "Treal: reals")
	SparseAddGrad        = define("SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> a_val_grad: T, b_val_grad: T", "T: numbers")
	SparseTensorDenseAdd = define("SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> output: T", "T: numbers", "Tindices: indices")
	SparseSparseMaximum  = define("SparseSparseMaximum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64) -> output_indices: int64, output_values: T",
		"T: reals")
	SparseSparseMinimum = define("SparseSparseMinimum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64) -> output_indices: int64, output_values: T",
		"T: numbers")
	SparseSoftmax           = define("SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> output: T", "T: {float16, float32, float64}")
	SparseSplit             = define("SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64")
	SparseSliceGrad         = define("SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64) -> val_grad: T", "T: numbers")
	SparseFillEmptyRowsGrad = define("SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> d_values: T, d_default_value: T")
	EditDistance            = define("EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, truth_values: T, truth_shape: int64) -> output: float32",
		"normalize: bool = true")
)

// Sets: the elements along the last dimension.
var (
	DenseToDenseSetOperation = define("DenseToDenseSetOperation(set1: T, set2: T) -> result_indices: int64, result_values: T, result_shape: int64",
		"set_operation: string", "validate_indices: bool = true", "T: {int8, int16, int32, int64, uint8, uint16, string}")
	DenseToSparseSetOperation = define("DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> result_indices: int64, result_values: T, result_shape: int64",
		"set_operation: string", "validate_indices: bool = true", "T: {int8, int16, int32, int64, uint8, uint16, string}")
	SparseToSparseSetOperation = define("SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64) -> result_indices: int64, result_values: T, result_shape: int64",
		"set_operation: string", "validate_indices: bool = true", "T: {int8, int16, int32, int64, uint8, uint16, string}")
	SetSize = define("SetSize(set_indices: int64, set_values: T, set_shape: int64) -> size: int32",
		"validate_indices: bool = true", "T: {int8, int16, int32, int64, uint8, uint16, string}")
)
