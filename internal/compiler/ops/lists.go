package ops

// Lists of tensors.
var (
	EmptyTensorList = define("EmptyTensorList(element_shape: shape_type, max_num_elements: int32) -> handle: variant",
		"element_dtype: type", "shape_type: indices").grows()
	TensorListConcat   = define("TensorListConcat(input_handle: variant) -> tensor: element_dtype, lengths: int64", "element_shape: shape = ?")
	TensorListConcatV2 = define("TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> tensor: element_dtype, lengths: int64",
		"shape_type: indices")
	TensorListElementShape = define("TensorListElementShape(input_handle: variant) -> element_shape: shape_type", "shape_type: indices")
	TensorListFromTensor   = define("TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> output_handle: variant", "shape_type: indices").lists()
	TensorListGather       = define("TensorListGather(input_handle: variant, indices: int32, element_shape: int32) -> values: element_dtype")
	TensorListGetItem      = define("TensorListGetItem(input_handle: variant, index: int32, element_shape: int32) -> item: element_dtype")
	TensorListLength       = define("TensorListLength(input_handle: variant) -> length: int32")
	TensorListPopBack      = define("TensorListPopBack(input_handle: variant, element_shape: int32) -> output_handle: variant, tensor: element_dtype")
	TensorListPushBack     = define("TensorListPushBack(input_handle: variant, tensor: element_dtype) -> output_handle: variant").lists()
	TensorListReserve      = define("TensorListReserve(element_shape: shape_type, num_elements: int32) -> handle: variant",
		"element_dtype: type", "shape_type: indices").grows()
	TensorListResize  = define("TensorListResize(input_handle: variant, size: int32) -> output_handle: variant").grows()
	TensorListScatter = define("TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type) -> output_handle: variant",
		"shape_type: indices")
	TensorListScatterV2 = define("TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32) -> output_handle: variant",
		"shape_type: indices")
	TensorListScatterIntoExistingList = define("TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: int32) -> output_handle: variant")
	TensorListSplit                   = define("TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> output_handle: variant", "shape_type: indices")
	TensorListSetItem                 = define("TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) -> output_handle: variant",
		"resize_if_index_out_of_bounds: bool = false").lists()
	TensorListStack = define("TensorListStack(input_handle: variant, element_shape: int32) -> tensor: element_dtype", "num_elements: int = -1").grows()
)
