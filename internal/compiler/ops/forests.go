package ops

// Ops of TensorFlow Decision Forests.
var (
	SimpleMLCreateModelResource = define("SimpleMLCreateModelResource() -> model_handle: resource", "container: string = ''", "shared_name: string = ''").state(Handle)
	SimpleMLLoadModelFromPath   = define("SimpleMLLoadModelFromPath(path: string)", "model_identifier: string").state(Writes)

	SimpleMLLoadModelFromPathWithHandle = define("SimpleMLLoadModelFromPathWithHandle(model_handle: resource, path: string)",
		"output_types: list(string) = []", "file_prefix: string = ''", "allow_slow_inference: bool = true").state(Writes)
	SimpleMLInferenceOp = define("SimpleMLInferenceOp(numerical_features: float32, boolean_features: float32, categorical_int_features: int32, categorical_set_int_features_values: int32, categorical_set_int_features_row_splits_dim_1: int64, categorical_set_int_features_row_splits_dim_2: int64) -> dense_predictions: float32, dense_col_representation: string",
		"model_identifier: string", "dense_output_dim: int").state(Reads)
	SimpleMLInferenceOpWithHandle = define("SimpleMLInferenceOpWithHandle(numerical_features: float32, boolean_features: float32, categorical_int_features: int32, categorical_set_int_features_values: int32, categorical_set_int_features_row_splits_dim_1: int64, categorical_set_int_features_row_splits_dim_2: int64, model_handle: resource) -> dense_predictions: float32, dense_col_representation: string",
		"dense_output_dim: int").state(Reads).opaque()
	SimpleMLInferenceLeafIndexOpWithHandle = define("SimpleMLInferenceLeafIndexOpWithHandle(numerical_features: float32, boolean_features: float32, categorical_int_features: int32, categorical_set_int_features_values: int32, categorical_set_int_features_row_splits_dim_1: int64, categorical_set_int_features_row_splits_dim_2: int64, model_handle: resource) -> leaves: int32").state(Reads).opaque()
)

// Ops that ask the boosted trees of tf.estimator, and restore them.
var (
	BoostedTreesEnsembleResourceHandleOp = define("BoostedTreesEnsembleResourceHandleOp() -> resource: resource", "container: string = ''", "shared_name: string = ''").state(Handle)
	IsBoostedTreesEnsembleInitialized    = define("IsBoostedTreesEnsembleInitialized(tree_ensemble_handle: resource) -> is_initialized: bool").state(Reads)
	BoostedTreesCreateEnsemble           = define("BoostedTreesCreateEnsemble(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string)").state(Writes)
	BoostedTreesDeserializeEnsemble      = define("BoostedTreesDeserializeEnsemble(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string)").state(Writes)
	BoostedTreesSerializeEnsemble        = define("BoostedTreesSerializeEnsemble(tree_ensemble_handle: resource) -> stamp_token: int64, tree_ensemble_serialized: string").state(Reads)
	BoostedTreesPredict                  = define("BoostedTreesPredict(tree_ensemble_handle: resource, bucketized_features: num_bucketized_features*int32) -> logits: float32", "logits_dimension: int").state(Reads)

	BoostedTreesQuantileStreamResourceHandleOp      = define("BoostedTreesQuantileStreamResourceHandleOp() -> resource: resource", "container: string = ''", "shared_name: string = ''").state(Handle)
	IsBoostedTreesQuantileStreamResourceInitialized = define("IsBoostedTreesQuantileStreamResourceInitialized(quantile_stream_resource_handle: resource) -> is_initialized: bool").state(Reads)
	BoostedTreesCreateQuantileStreamResource        = define("BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle: resource, epsilon: float32, num_streams: int64)", "max_elements: int = 1099511627776").state(Writes)
	BoostedTreesQuantileStreamResourceDeserialize   = define("BoostedTreesQuantileStreamResourceDeserialize(quantile_stream_resource_handle: resource, bucket_boundaries: num_streams*float32)").state(Writes)

	BoostedTreesQuantileStreamResourceGetBucketBoundaries = define("BoostedTreesQuantileStreamResourceGetBucketBoundaries(quantile_stream_resource_handle: resource) -> bucket_boundaries: num_features*float32").state(Reads)

	BoostedTreesBucketize = define("BoostedTreesBucketize(float_values: num_features*float32, bucket_boundaries: num_features*float32) -> buckets: num_features*int32")
)
