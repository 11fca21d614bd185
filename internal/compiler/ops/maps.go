package ops

// Maps from tensors to tensors.
var (
	EmptyTensorMap     = define("EmptyTensorMap() -> handle: variant")
	TensorMapErase     = define("TensorMapErase(input_handle: variant, key: key_dtype) -> output_handle: variant")
	TensorMapHasKey    = define("TensorMapHasKey(input_handle: variant, key: key_dtype) -> has_key: bool")
	TensorMapInsert    = define("TensorMapInsert(input_handle: variant, key: key_dtype, value: value_dtype) -> output_handle: variant").lists()
	TensorMapLookup    = define("TensorMapLookup(input_handle: variant, key: key_dtype) -> value: value_dtype")
	TensorMapSize      = define("TensorMapSize(input_handle: variant) -> size: int32")
	TensorMapStackKeys = define("TensorMapStackKeys(input_handle: variant) -> keys: key_dtype")
)
