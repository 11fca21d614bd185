package ops

// tf.train.Example.
var (
	ParseExample = define("ParseExample(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, dense_defaults: [Tdense]) -> sparse_indices: Nsparse*int64, sparse_values: [sparse_types], sparse_shapes: Nsparse*int64, dense_values: [Tdense]",
		"sparse_types: list({int64, float32, string})", "Tdense: list({int64, float32, string})", "dense_shapes: list(shape)")
	ParseExampleV2 = define("ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, dense_defaults: [Tdense]) -> sparse_indices: num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: num_sparse*int64, dense_values: [Tdense], ragged_values: [ragged_value_types], ragged_row_splits: [ragged_split_types]",
		"Tdense: list({int64, float32, string})", "sparse_types: list({int64, float32, string})", "ragged_value_types: list({int64, float32, string})", "ragged_split_types: list(indices)", "dense_shapes: list(shape)")
	ParseSingleExample = define("ParseSingleExample(serialized: string, dense_defaults: [Tdense]) -> sparse_indices: num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: num_sparse*int64, dense_values: [Tdense]",
		"sparse_keys: list(string)", "dense_keys: list(string)", "sparse_types: list({int64, float32, string})", "Tdense: list({int64, float32, string})", "dense_shapes: list(shape)")
)
