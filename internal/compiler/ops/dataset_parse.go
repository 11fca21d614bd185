package ops

// Datasets of parsed examples.
var (
	ParseExampleDataset = define("ParseExampleDataset(input_dataset: variant, num_parallel_calls: int64, dense_defaults: [Tdense]) -> handle: variant",
		"sparse_keys: list(string)", "dense_keys: list(string)", "sparse_types: list({float32, int64, string})", "Tdense: list({float32, int64, string})", "dense_shapes: list(shape)", "output_types: list(type)", "output_shapes: list(shape)", "sloppy: bool = false", "ragged_keys: list(string) = []", "ragged_value_types: list({float32, int64, string}) = []", "ragged_split_types: list(indices) = []").state(Queues).opaque()
	ParseExampleDatasetV2 = define("ParseExampleDatasetV2(input_dataset: variant, num_parallel_calls: int64, dense_defaults: [Tdense]) -> handle: variant",
		"sparse_keys: list(string)", "dense_keys: list(string)", "sparse_types: list({float32, int64, string})", "Tdense: list({float32, int64, string})", "dense_shapes: list(shape)", "output_types: list(type)", "output_shapes: list(shape)", "deterministic: string = 'default'", "ragged_keys: list(string) = []", "ragged_value_types: list({float32, int64, string}) = []", "ragged_split_types: list(indices) = []").state(Queues).opaque()
)
