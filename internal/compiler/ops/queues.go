package ops

// Queues.
var (
	FIFOQueue = define("FIFOQueue() -> handle: &string",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	FIFOQueueV2 = define("FIFOQueueV2() -> handle: resource",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	QueueClose         = define("QueueClose(handle: &string)", "cancel_pending_enqueues: bool = false").state(Queues)
	QueueCloseV2       = define("QueueCloseV2(handle: resource)", "cancel_pending_enqueues: bool = false").state(Queues)
	QueueDequeue       = define("QueueDequeue(handle: &string) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueDequeueMany   = define("QueueDequeueMany(handle: &string, n: int32) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueDequeueManyV2 = define("QueueDequeueManyV2(handle: resource, n: int32) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueDequeueUpTo   = define("QueueDequeueUpTo(handle: &string, n: int32) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueDequeueUpToV2 = define("QueueDequeueUpToV2(handle: resource, n: int32) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueDequeueV2     = define("QueueDequeueV2(handle: resource) -> components: [component_types]", "timeout_ms: int = -1").state(Queues)
	QueueEnqueue       = define("QueueEnqueue(handle: &string, components: [Tcomponents])", "timeout_ms: int = -1").state(Queues)
	QueueEnqueueMany   = define("QueueEnqueueMany(handle: &string, components: [Tcomponents])", "timeout_ms: int = -1").state(Queues)
	QueueEnqueueManyV2 = define("QueueEnqueueManyV2(handle: resource, components: [Tcomponents])", "timeout_ms: int = -1").state(Queues)
	QueueEnqueueV2     = define("QueueEnqueueV2(handle: resource, components: [Tcomponents])", "timeout_ms: int = -1").state(Queues)
	QueueIsClosed      = define("QueueIsClosed(handle: &string) -> is_closed: bool").state(Queues)
	QueueIsClosedV2    = define("QueueIsClosedV2(handle: resource) -> is_closed: bool").state(Queues)
	QueueSize          = define("QueueSize(handle: &string) -> size: int32").state(Queues)
	QueueSizeV2        = define("QueueSizeV2(handle: resource) -> size: int32").state(Queues)
)

// Other queues.
var (
	PaddingFIFOQueue = define("PaddingFIFOQueue() -> handle: &string",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	PaddingFIFOQueueV2 = define("PaddingFIFOQueueV2() -> handle: resource",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	RandomShuffleQueue = define("RandomShuffleQueue() -> handle: &string",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	RandomShuffleQueueV2 = define("RandomShuffleQueueV2() -> handle: resource",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	PriorityQueue = define("PriorityQueue() -> handle: &string",
		"component_types: list(type) = []", "shapes: list(shape)", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	PriorityQueueV2 = define("PriorityQueueV2() -> handle: resource",
		"component_types: list(type) = []", "shapes: list(shape)", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
)

// Accumulators of gradients.
var (
	ConditionalAccumulator = define("ConditionalAccumulator() -> handle: &string",
		"dtype: numbers", "shape: shape", "container: string = ''", "shared_name: string = ''", "reduction_type: {'MEAN', 'SUM'} = 'MEAN'").state(Queues)
	ResourceConditionalAccumulator = define("ResourceConditionalAccumulator() -> handle: resource",
		"dtype: numbers", "shape: shape", "container: string = ''", "shared_name: string = ''", "reduction_type: {'MEAN', 'SUM'} = 'MEAN'").state(Queues)
	SparseConditionalAccumulator = define("SparseConditionalAccumulator() -> handle: &string",
		"dtype: numbers", "shape: shape", "container: string = ''", "shared_name: string = ''", "reduction_type: {'MEAN', 'SUM'} = 'MEAN'").state(Queues)
	AccumulatorApplyGradient          = define("AccumulatorApplyGradient(handle: &string, local_step: int64, gradient: dtype)", "dtype: numbers").state(Queues)
	AccumulatorNumAccumulated         = define("AccumulatorNumAccumulated(handle: &string) -> num_accumulated: int32").state(Queues)
	AccumulatorSetGlobalStep          = define("AccumulatorSetGlobalStep(handle: &string, new_global_step: int64)").state(Queues)
	AccumulatorTakeGradient           = define("AccumulatorTakeGradient(handle: &string, num_required: int32) -> average: dtype", "dtype: numbers").state(Queues)
	ResourceAccumulatorApplyGradient  = define("ResourceAccumulatorApplyGradient(handle: resource, local_step: int64, gradient: dtype)", "dtype: numbers").state(Queues)
	ResourceAccumulatorNumAccumulated = define("ResourceAccumulatorNumAccumulated(handle: resource) -> num_accumulated: int32").state(Queues)
	ResourceAccumulatorSetGlobalStep  = define("ResourceAccumulatorSetGlobalStep(handle: resource, new_global_step: int64)").state(Queues)
	ResourceAccumulatorTakeGradient   = define("ResourceAccumulatorTakeGradient(handle: resource, num_required: int32) -> average: dtype", "dtype: numbers").state(Queues)
	SparseAccumulatorApplyGradient    = define("SparseAccumulatorApplyGradient(handle: &string, local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64)", "dtype: numbers", "has_known_shape: bool").state(Queues)
	SparseAccumulatorTakeGradient     = define("SparseAccumulatorTakeGradient(handle: &string, num_required: int32) -> indices: int64, values: dtype, shape: int64", "dtype: numbers").state(Queues)
)
