package ops

// Datasets of tf.data: descriptions of sequences of elements.
var (
	AssertCardinalityDataset = define("AssertCardinalityDataset(input_dataset: variant, cardinality: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	AssertNextDataset = define("AssertNextDataset(input_dataset: variant, transformations: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	AutoShardDataset = define("AutoShardDataset(input_dataset: variant, num_workers: int64, index: int64) -> handle: variant",
		"auto_shard_policy: int = 0", "output_types: list(type)", "output_shapes: list(shape)", "num_replicas: int = 0").state(Queues).opaque()
	BatchDataset = define("BatchDataset(input_dataset: variant, batch_size: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	BatchDatasetV2 = define("BatchDatasetV2(input_dataset: variant, batch_size: int64, drop_remainder: bool) -> handle: variant",
		"parallel_copy: bool = false", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	BytesProducedStatsDataset = define("BytesProducedStatsDataset(input_dataset: variant, tag: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	CacheDataset = define("CacheDataset(input_dataset: variant, filename: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	CacheDatasetV2 = define("CacheDatasetV2(input_dataset: variant, filename: string, cache: resource) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ConcatenateDataset = define("ConcatenateDataset(input_dataset: variant, another_dataset: variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	DatasetFromGraph = define("DatasetFromGraph(graph_def: string) -> handle: variant").state(Queues).opaque()
	DatasetToGraph   = define("DatasetToGraph(input_dataset: variant) -> graph: string",
		"stateful_whitelist: list(string) = []", "allow_stateful: bool = false", "strip_device_assignment: bool = false").state(Queues).opaque()
	DatasetToGraphV2 = define("DatasetToGraphV2(input_dataset: variant) -> graph: string",
		"external_state_policy: int = 0", "strip_device_assignment: bool = false").state(Queues).opaque()
	DirectedInterleaveDataset = define("DirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N*variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "stop_on_empty_dataset: bool = false").state(Queues).opaque()
	ExperimentalMapAndBatchDataset = define("ExperimentalMapAndBatchDataset(input_dataset: variant, other_arguments: [Targuments], batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "preserve_cardinality: bool = false").state(Queues).opaque()
	FilterDataset = define("FilterDataset(input_dataset: variant, other_arguments: [Targuments]) -> handle: variant",
		"predicate: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	FinalizeDataset = define("FinalizeDataset(input_dataset: variant) -> handle: variant",
		"has_captured_ref: bool = false", "output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	FlatMapDataset = define("FlatMapDataset(input_dataset: variant, other_arguments: [Targuments]) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	GeneratorDataset = define("GeneratorDataset(init_func_other_args: [Tinit_func_args], next_func_other_args: [Tnext_func_args], finalize_func_other_args: [Tfinalize_func_args]) -> handle: variant",
		"init_func: func", "next_func: func", "finalize_func: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	GroupByWindowDataset = define("GroupByWindowDataset(input_dataset: variant, key_func_other_arguments: [Tkey_func_other_arguments], reduce_func_other_arguments: [Treduce_func_other_arguments], window_size_func_other_arguments: [Twindow_size_func_other_arguments]) -> handle: variant",
		"key_func: func", "reduce_func: func", "window_size_func: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	IgnoreErrorsDataset = define("IgnoreErrorsDataset(input_dataset: variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "log_warning: bool = false").state(Queues).opaque()
	InterleaveDataset = define("InterleaveDataset(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	LatencyStatsDataset = define("LatencyStatsDataset(input_dataset: variant, tag: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	LegacyParallelInterleaveDatasetV2 = define("LegacyParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64) -> handle: variant",
		"f: func", "deterministic: string = 'default'", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	MapAndBatchDataset = define("MapAndBatchDataset(input_dataset: variant, other_arguments: [Targuments], batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "preserve_cardinality: bool = false", "metadata: string = ''").state(Queues).opaque()
	MapDataset = define("MapDataset(input_dataset: variant, other_arguments: [Targuments]) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "use_inter_op_parallelism: bool = true", "preserve_cardinality: bool = false", "metadata: string = ''").state(Queues).opaque()
	MaxIntraOpParallelismDataset = define("MaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	ModelDataset = define("ModelDataset(input_dataset: variant) -> handle: variant",
		"algorithm: int = 0", "cpu_budget: int = 0", "ram_budget: int = 0", "output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	NonSerializableDataset = define("NonSerializableDataset(input_dataset: variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	OptimizeDataset = define("OptimizeDataset(input_dataset: variant, optimizations: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "optimization_configs: list(string) = []").state(Queues).opaque()
	OptimizeDatasetV2 = define("OptimizeDatasetV2(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: string, optimizations_default: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "optimization_configs: list(string) = []").state(Queues).opaque()
	OptionsDataset = define("OptionsDataset(input_dataset: variant) -> handle: variant",
		"serialized_options: string", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	PaddedBatchDataset = define("PaddedBatchDataset(input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: [Toutput_types]) -> handle: variant",
		"output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	PaddedBatchDatasetV2 = define("PaddedBatchDatasetV2(input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: [Toutput_types], drop_remainder: bool) -> handle: variant",
		"parallel_copy: bool = false", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ParallelBatchDataset = define("ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant",
		"parallel_copy: bool = false", "output_types: list(type)", "output_shapes: list(shape)", "deterministic: string = 'default'", "metadata: string = ''").state(Queues).opaque()
	ParallelInterleaveDataset = define("ParallelInterleaveDataset(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ParallelInterleaveDatasetV2 = define("ParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "sloppy: bool = false", "metadata: string = ''").state(Queues).opaque()
	ParallelInterleaveDatasetV3 = define("ParallelInterleaveDatasetV3(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> handle: variant",
		"f: func", "deterministic: string = 'default'", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ParallelInterleaveDatasetV4 = define("ParallelInterleaveDatasetV4(input_dataset: variant, other_arguments: [Targuments], cycle_length: int64, block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64, num_parallel_calls: int64) -> handle: variant",
		"f: func", "deterministic: string = 'default'", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ParallelMapDataset = define("ParallelMapDataset(input_dataset: variant, other_arguments: [Targuments], num_parallel_calls: int32) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "use_inter_op_parallelism: bool = true", "sloppy: bool = false", "preserve_cardinality: bool = false", "metadata: string = ''").state(Queues).opaque()
	ParallelMapDatasetV2 = define("ParallelMapDatasetV2(input_dataset: variant, other_arguments: [Targuments], num_parallel_calls: int64) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "use_inter_op_parallelism: bool = true", "deterministic: string = 'default'", "preserve_cardinality: bool = false", "metadata: string = ''").state(Queues).opaque()
	PrefetchDataset = define("PrefetchDataset(input_dataset: variant, buffer_size: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "slack_period: int = 0", "legacy_autotune: bool = true", "buffer_size_min: int = 0", "metadata: string = ''").state(Queues).opaque()
	PrivateThreadPoolDataset = define("PrivateThreadPoolDataset(input_dataset: variant, num_threads: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	RandomDataset = define("RandomDataset(seed: int64, seed2: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	RandomDatasetV2 = define("RandomDatasetV2(seed: int64, seed2: int64, seed_generator: resource) -> handle: variant",
		"rerandomize_each_iteration: bool = false", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	RangeDataset = define("RangeDataset(start: int64, stop: int64, step: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''", "replicate_on_split: bool = false").state(Queues).opaque()
	RebatchDataset = define("RebatchDataset(input_dataset: variant, num_replicas: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "use_fallback: bool = true").state(Queues).opaque()
	RebatchDatasetV2 = define("RebatchDatasetV2(input_dataset: variant, batch_sizes: int64, drop_remainder: bool) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	RepeatDataset = define("RepeatDataset(input_dataset: variant, count: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	RewriteDataset = define("RewriteDataset(input_dataset: variant, rewrite_name: string) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues).opaque()
	ScanDataset = define("ScanDataset(input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]) -> handle: variant",
		"f: func", "output_types: list(type)", "output_shapes: list(shape)", "preserve_cardinality: bool = false", "use_default_device: bool = true", "metadata: string = ''").state(Queues).opaque()
	ShardDataset = define("ShardDataset(input_dataset: variant, num_shards: int64, index: int64) -> handle: variant",
		"require_non_empty: bool = false", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ShuffleAndRepeatDataset = define("ShuffleAndRepeatDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "reshuffle_each_iteration: bool = true", "metadata: string = ''").state(Queues).opaque()
	ShuffleAndRepeatDatasetV2 = define("ShuffleAndRepeatDatasetV2(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64, seed_generator: resource) -> handle: variant",
		"reshuffle_each_iteration: bool = true", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ShuffleDataset = define("ShuffleDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64) -> handle: variant",
		"reshuffle_each_iteration: bool = true", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ShuffleDatasetV2 = define("ShuffleDatasetV2(input_dataset: variant, buffer_size: int64, seed_generator: resource) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	ShuffleDatasetV3 = define("ShuffleDatasetV3(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, seed_generator: resource) -> handle: variant",
		"reshuffle_each_iteration: bool = true", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	SkipDataset = define("SkipDataset(input_dataset: variant, count: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	SparseTensorSliceDataset = define("SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64) -> handle: variant").state(Queues).opaque()
	TakeDataset              = define("TakeDataset(input_dataset: variant, count: int64) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	TakeWhileDataset = define("TakeWhileDataset(input_dataset: variant, other_arguments: [Targuments]) -> handle: variant",
		"predicate: func", "output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	TensorDataset = define("TensorDataset(components: [Toutput_types]) -> handle: variant",
		"output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	TensorSliceDataset = define("TensorSliceDataset(components: [Toutput_types]) -> handle: variant",
		"output_shapes: list(shape)", "is_files: bool = false", "metadata: string = ''", "replicate_on_split: bool = false").state(Queues).opaque()
	UnbatchDataset = define("UnbatchDataset(input_dataset: variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	UniqueDataset = define("UniqueDataset(input_dataset: variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	UnwrapDatasetVariant = define("UnwrapDatasetVariant(input_handle: variant) -> output_handle: variant").state(Queues).opaque()
	WindowDataset        = define("WindowDataset(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	WrapDatasetVariant = define("WrapDatasetVariant(input_handle: variant) -> output_handle: variant").state(Queues).opaque()
	ZipDataset         = define("ZipDataset(input_datasets: N*variant) -> handle: variant",
		"output_types: list(type)", "output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
)
