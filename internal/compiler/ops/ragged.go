package ops

// Ragged tensors.
var (
	RaggedGather = define("RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: Tindices) -> output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
		"Tindices: indices", "Tsplits: indices = int64").grows()
	RaggedRange = define("RaggedRange(starts: T, limits: T, deltas: T) -> rt_nested_splits: Tsplits, rt_dense_values: T",
		"T: {int32, int64, bfloat16, float32, float64} = int32", "Tsplits: indices = int64").grows()
	RaggedTensorToSparse = define("RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T) -> sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64",
		"Tsplits: indices = int64")
	RaggedTensorToTensor = define("RaggedTensorToTensor(shape: Tshape unread, values: T, default_value: T, row_partition_tensors: num_row_partition_tensors*Tindex) -> result: T",
		"Tindex: indices", "Tshape: indices", "row_partition_types: list(string)").grows()
	RaggedTensorToVariant = define("RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues) -> encoded_ragged: variant",
		"Tsplits: indices = int64", "batched_input: bool")
	RaggedTensorFromVariant = define("RaggedTensorFromVariant(encoded_ragged: variant) -> output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues",
		"input_ragged_rank: int", "Tsplits: indices = int64")
	RaggedTensorToVariantGradient = define("RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32) -> dense_values_grad: Tvalues",
		"Tsplits: indices = int64").grows()
	RaggedCross = define("RaggedCross(ragged_values: [ragged_values_types], ragged_row_splits: [ragged_splits_types], sparse_indices: Nsparse*int64, sparse_values: [sparse_values_types], sparse_shape: Nsparse*int64, dense_inputs: [dense_types]) -> output_values: out_values_type, output_row_splits: out_row_splits_type", "Nsparse: int", "input_order: string", "hashed_output: bool", "num_buckets: int", "hash_key: int", "ragged_values_types: list(type)", "ragged_splits_types: list(type)", "sparse_values_types: list(type)", "dense_types: list(type)", "out_values_type: {int64, string}", "out_row_splits_type: indices").grows()
)
