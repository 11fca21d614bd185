package ops

// Barriers collect the components of values by key.
var (
	Barrier = define("Barrier() -> handle: &string",
		"component_types: list(type)", "shapes: list(shape) = []", "capacity: int = -1", "container: string = ''", "shared_name: string = ''").state(Queues)
	BarrierInsertMany = define("BarrierInsertMany(handle: &string, keys: string, values: T)", "component_index: int").state(Queues)
	BarrierTakeMany   = define("BarrierTakeMany(handle: &string, num_elements: int32) -> indices: int64, keys: string, values: [component_types]",
		"allow_small_batch: bool = false", "wait_for_incomplete: bool = false", "timeout_ms: int = -1").state(Queues)
	BarrierClose          = define("BarrierClose(handle: &string)", "cancel_pending_enqueues: bool = false").state(Queues)
	BarrierReadySize      = define("BarrierReadySize(handle: &string) -> size: int32").state(Queues)
	BarrierIncompleteSize = define("BarrierIncompleteSize(handle: &string) -> size: int32").state(Queues)
)

// Staging areas pass tensors from one step to a later one.
var (
	Stage      = define("Stage(values: [dtypes])", "capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	Unstage    = define("Unstage() -> values: [dtypes]", "capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	StagePeek  = define("StagePeek(index: int32) -> values: [dtypes]", "capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	StageSize  = define("StageSize() -> size: int32", "capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	StageClear = define("StageClear()", "capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapStage   = define("MapStage(key: int64, indices: int32, values: [fake_dtypes])",
		"capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapPeek = define("MapPeek(key: int64, indices: int32) -> values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapUnstage = define("MapUnstage(key: int64, indices: int32) -> values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapUnstageNoKey = define("MapUnstageNoKey(indices: int32) -> key: int64, values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapSize           = define("MapSize() -> size: int32", "capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapIncompleteSize = define("MapIncompleteSize() -> size: int32",
		"capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	MapClear        = define("MapClear()", "capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapStage = define("OrderedMapStage(key: int64, indices: int32, values: [fake_dtypes])",
		"capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapPeek = define("OrderedMapPeek(key: int64, indices: int32) -> values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapUnstage = define("OrderedMapUnstage(key: int64, indices: int32) -> values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapUnstageNoKey = define("OrderedMapUnstageNoKey(indices: int32) -> key: int64, values: [dtypes]",
		"capacity: int = 0", "memory_limit: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapSize = define("OrderedMapSize() -> size: int32",
		"capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapIncompleteSize = define("OrderedMapIncompleteSize() -> size: int32",
		"capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
	OrderedMapClear = define("OrderedMapClear()", "capacity: int = 0", "memory_limit: int = 0", "dtypes: list(type)", "container: string = ''", "shared_name: string = ''").state(Queues)
)

// Tensors that a session keeps. TensorFlow's servers refuse them.
var (
	GetSessionHandle    = define("GetSessionHandle(value: T) -> handle: string").state(Queues)
	GetSessionHandleV2  = define("GetSessionHandleV2(value: T) -> handle: resource").state(Queues)
	GetSessionTensor    = define("GetSessionTensor(handle: string) -> value: dtype").state(Queues)
	DeleteSessionTensor = define("DeleteSessionTensor(handle: string)").state(Queues)
)
