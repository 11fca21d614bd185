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
