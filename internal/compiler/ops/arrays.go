package ops

// Stacks and arrays of loops of TensorFlow 1.
var (
	StackV2      = define("StackV2(max_size: int32) -> handle: resource", "elem_type: type", "stack_name: string = ''").state(Queues)
	StackPushV2  = define("StackPushV2(handle: resource, elem: T) -> output: T", "swap_memory: bool = false").state(Queues)
	StackPopV2   = define("StackPopV2(handle: resource) -> elem: elem_type").state(Queues)
	StackCloseV2 = define("StackCloseV2(handle: resource)").state(Queues)

	TensorArrayV3 = define("TensorArrayV3(size: int32) -> handle: resource, flow: float32",
		"dtype: type", "element_shape: shape = ?", "dynamic_size: bool = false", "clear_after_read: bool = true", "identical_element_shapes: bool = false", "tensor_array_name: string = ''").state(Queues)
	TensorArrayGradV3        = define("TensorArrayGradV3(handle: resource, flow_in: float32) -> grad_handle: resource, flow_out: float32", "source: string").state(Queues)
	TensorArrayGradWithShape = define("TensorArrayGradWithShape(handle: resource, flow_in: float32, shape_to_prepend: int32) -> grad_handle: resource, flow_out: float32", "source: string").state(Queues)
	TensorArrayWriteV3       = define("TensorArrayWriteV3(handle: resource, index: int32, value: T, flow_in: float32) -> flow_out: float32").state(Queues)
	TensorArrayReadV3        = define("TensorArrayReadV3(handle: resource, index: int32, flow_in: float32) -> value: dtype").state(Queues)
	TensorArrayGatherV3      = define("TensorArrayGatherV3(handle: resource, indices: int32, flow_in: float32) -> value: dtype", "element_shape: shape = ?").state(Queues)
	TensorArrayScatterV3     = define("TensorArrayScatterV3(handle: resource, indices: int32, value: T, flow_in: float32) -> flow_out: float32").state(Queues)
	TensorArrayConcatV3      = define("TensorArrayConcatV3(handle: resource, flow_in: float32) -> value: dtype, lengths: int64", "element_shape_except0: shape = ?").state(Queues)
	TensorArraySplitV3       = define("TensorArraySplitV3(handle: resource, value: T, lengths: int64, flow_in: float32) -> flow_out: float32").state(Queues)
	TensorArraySizeV3        = define("TensorArraySizeV3(handle: resource, flow_in: float32) -> size: int32").state(Queues)
	TensorArrayCloseV3       = define("TensorArrayCloseV3(handle: resource)").state(Queues)
)
