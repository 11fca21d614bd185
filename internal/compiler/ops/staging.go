package ops

import "slices"

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
	Stage                    = staged("Stage(values: [dtypes])")
	Unstage                  = staged("Unstage() -> values: [dtypes]")
	StagePeek                = staged("StagePeek(index: int32) -> values: [dtypes]")
	StageSize                = staged("StageSize() -> size: int32", "dtypes: list(type)")
	StageClear               = staged("StageClear()", "dtypes: list(type)")
	MapStage                 = staged("MapStage(key: int64, indices: int32, values: [fake_dtypes])", "dtypes: list(type)")
	MapPeek                  = staged("MapPeek(key: int64, indices: int32) -> values: [dtypes]")
	MapUnstage               = staged("MapUnstage(key: int64, indices: int32) -> values: [dtypes]")
	MapUnstageNoKey          = staged("MapUnstageNoKey(indices: int32) -> key: int64, values: [dtypes]")
	MapSize                  = staged("MapSize() -> size: int32", "dtypes: list(type)")
	MapIncompleteSize        = staged("MapIncompleteSize() -> size: int32", "dtypes: list(type)")
	MapClear                 = staged("MapClear()", "dtypes: list(type)")
	OrderedMapStage          = staged("OrderedMapStage(key: int64, indices: int32, values: [fake_dtypes])", "dtypes: list(type)")
	OrderedMapPeek           = staged("OrderedMapPeek(key: int64, indices: int32) -> values: [dtypes]")
	OrderedMapUnstage        = staged("OrderedMapUnstage(key: int64, indices: int32) -> values: [dtypes]")
	OrderedMapUnstageNoKey   = staged("OrderedMapUnstageNoKey(indices: int32) -> key: int64, values: [dtypes]")
	OrderedMapSize           = staged("OrderedMapSize() -> size: int32", "dtypes: list(type)")
	OrderedMapIncompleteSize = staged("OrderedMapIncompleteSize() -> size: int32", "dtypes: list(type)")
	OrderedMapClear          = staged("OrderedMapClear()", "dtypes: list(type)")
)

// Tensors that a session keeps. TensorFlow's servers refuse them.
var (
	GetSessionHandle    = define("GetSessionHandle(value: T) -> handle: string").state(Queues)
	GetSessionHandleV2  = define("GetSessionHandleV2(value: T) -> handle: resource").state(Queues)
	GetSessionTensor    = define("GetSessionTensor(handle: string) -> value: dtype").state(Queues)
	DeleteSessionTensor = define("DeleteSessionTensor(handle: string)").state(Queues)
)

// staged defines an op of staging areas. attrs go between its bounds and its names.
func staged(signature string, attrs ...string) *Def {
	bounds, names := []string{"capacity: int = 0", "memory_limit: int = 0"}, []string{"container: string = ''", "shared_name: string = ''"}
	return define(signature, slices.Concat(bounds, attrs, names)...).state(Queues)
}
