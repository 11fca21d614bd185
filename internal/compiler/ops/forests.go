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
