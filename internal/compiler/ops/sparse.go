package ops

// Sparse tensors and crosses.
var (
	SparseConcat = define("SparseConcat(indices: N*int64, values: N*T, shapes: N*int64) -> output_indices: int64, output_values: T, output_shape: int64",
		"concat_dim: int")
	SparseDenseCwiseAdd     = define("SparseDenseCwiseAdd(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T", "T: numbers")
	SparseDenseCwiseDiv     = define("SparseDenseCwiseDiv(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T", "T: numbers")
	SparseDenseCwiseMul     = define("SparseDenseCwiseMul(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T", "T: numbers")
	SparseFillEmptyRows     = define("SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T) -> output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64").grows()
	SparseReorder           = define("SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> output_indices: int64, output_values: T")
	SparseReshape           = define("SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> output_indices: int64, output_shape: int64")
	SparseSlice             = define("SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64) -> output_indices: int64, output_values: T, output_shape: int64")
	SparseTensorDenseMatMul = define("SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> product: T",
		"Tindices: indices = int64", "adjoint_a: bool = false", "adjoint_b: bool = false").grows()
	SparseToDense = define("SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> dense: T",
		"validate_indices: bool = true", "Tindices: indices").grows()
	SparseCross = define("SparseCross(indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types]) -> output_indices: int64, output_values: out_type, output_shape: int64",
		"hashed_output: bool", "num_buckets: int", "hash_key: int", "sparse_types: list({int64, string})", "dense_types: list({int64, string})", "out_type: {int64, string}", "internal_type: {int64, string}").grows()
	SparseCrossHashed = define("SparseCrossHashed(indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types], num_buckets: int64, strong_hash: bool, salt: int64) -> output_indices: int64, output_values: int64, output_shape: int64",
		"sparse_types: list({int64, string})", "dense_types: list({int64, string})").grows()
	SparseCrossV2 = define("SparseCrossV2(indices: N*int64, values: [sparse_types], shapes: N*int64, dense_inputs: [dense_types], sep: string) -> output_indices: int64, output_values: string, output_shape: int64",
		"sparse_types: list({int64, string})", "dense_types: list({int64, string})").grows()
)
