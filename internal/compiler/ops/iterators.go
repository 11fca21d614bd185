package ops

// Iterators of tf.data, and what their datasets keep between passes.
var (
	AnonymousIterator = define("AnonymousIterator() -> handle: resource",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	AnonymousIteratorV2 = define("AnonymousIteratorV2() -> handle: resource, deleter: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	AnonymousIteratorV3 = define("AnonymousIteratorV3() -> handle: resource",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	AnonymousMemoryCache         = define("AnonymousMemoryCache() -> handle: resource, deleter: variant").state(Queues)
	AnonymousRandomSeedGenerator = define("AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> handle: resource, deleter: variant").state(Queues)
	AnonymousSeedGenerator       = define("AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> handle: resource, deleter: variant").state(Queues)
	DatasetCardinality           = define("DatasetCardinality(input_dataset: variant) -> cardinality: int64",
		"cardinality_options: string = ''").state(Queues).opaque()
	DatasetToSingleElement = define("DatasetToSingleElement(dataset: variant) -> components: [output_types]",
		"output_shapes: list(shape)", "metadata: string = ''").state(Queues).opaque()
	DeleteIterator            = define("DeleteIterator(handle: resource, deleter: variant)").state(Queues).opaque()
	DeleteMemoryCache         = define("DeleteMemoryCache(handle: resource, deleter: variant)").state(Queues).opaque()
	DeleteRandomSeedGenerator = define("DeleteRandomSeedGenerator(handle: resource, deleter: variant)").state(Queues).opaque()
	DeleteSeedGenerator       = define("DeleteSeedGenerator(handle: resource, deleter: variant)").state(Queues).opaque()
	DummyMemoryCache          = define("DummyMemoryCache() -> handle: resource").state(Queues)
	DummySeedGenerator        = define("DummySeedGenerator() -> handle: resource").state(Queues)
	GetOptions                = define("GetOptions(input_dataset: variant) -> serialized_options: string").state(Queues).opaque()
	Iterator                  = define("Iterator() -> handle: resource",
		"shared_name: string", "container: string", "output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	IteratorFromStringHandle = define("IteratorFromStringHandle(string_handle: string) -> resource_handle: resource",
		"output_types: list(type) = []", "output_shapes: list(shape) = []").state(Queues)
	IteratorFromStringHandleV2 = define("IteratorFromStringHandleV2(string_handle: string) -> resource_handle: resource",
		"output_types: list(type) = []", "output_shapes: list(shape) = []").state(Queues)
	IteratorGetNext = define("IteratorGetNext(iterator: resource) -> components: [output_types]",
		"output_shapes: list(shape)").state(Queues)
	IteratorGetNextAsOptional = define("IteratorGetNextAsOptional(iterator: resource) -> optional: variant",
		"output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	IteratorGetNextSync = define("IteratorGetNextSync(iterator: resource) -> components: [output_types]",
		"output_shapes: list(shape)").state(Queues)
	IteratorToStringHandle = define("IteratorToStringHandle(resource_handle: resource) -> string_handle: string").state(Queues)
	IteratorV2             = define("IteratorV2() -> handle: resource",
		"shared_name: string", "container: string", "output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	MakeIterator                 = define("MakeIterator(dataset: variant, iterator: resource)").state(Queues).opaque()
	AnonymousMultiDeviceIterator = define("AnonymousMultiDeviceIterator() -> handle: resource, deleter: variant",
		"devices: list(string)", "output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	AnonymousMultiDeviceIteratorV3 = define("AnonymousMultiDeviceIteratorV3() -> handle: resource",
		"devices: list(string)", "output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	DeleteMultiDeviceIterator = define("DeleteMultiDeviceIterator(multi_device_iterator: resource, iterators: N*resource, deleter: variant)").state(Queues).opaque()
	MultiDeviceIterator       = define("MultiDeviceIterator() -> handle: resource",
		"devices: list(string)", "shared_name: string", "container: string", "output_types: list(type)", "output_shapes: list(shape)").state(Queues)
	MultiDeviceIteratorFromStringHandle = define("MultiDeviceIteratorFromStringHandle(string_handle: string) -> multi_device_iterator: resource",
		"output_types: list(type) = []", "output_shapes: list(shape) = []").state(Queues)
	MultiDeviceIteratorGetNextFromShard = define("MultiDeviceIteratorGetNextFromShard(multi_device_iterator: resource, shard_num: int32, incarnation_id: int64) -> components: [output_types]",
		"output_shapes: list(shape)").state(Queues)
	MultiDeviceIteratorInit           = define("MultiDeviceIteratorInit(dataset: variant, multi_device_iterator: resource, max_buffer_size: int64) -> incarnation_id: int64").state(Queues).opaque()
	MultiDeviceIteratorToStringHandle = define("MultiDeviceIteratorToStringHandle(multi_device_iterator: resource) -> string_handle: string").state(Queues)
	OneShotIterator                   = define("OneShotIterator() -> handle: resource",
		"dataset_factory: func", "output_types: list(type)", "output_shapes: list(shape)", "container: string = ''", "shared_name: string = ''").state(Queues)
	OptionalFromValue = define("OptionalFromValue(components: [Toutput_types]) -> optional: variant").state(Queues).opaque()
	OptionalGetValue  = define("OptionalGetValue(optional: variant) -> components: [output_types]",
		"output_shapes: list(shape)").state(Queues).opaque()
	OptionalHasValue = define("OptionalHasValue(optional: variant) -> has_value: bool").state(Queues).opaque()
	OptionalNone     = define("OptionalNone() -> optional: variant").state(Queues)
	ReduceDataset    = define("ReduceDataset(input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]) -> components: [output_types]",
		"f: func", "output_shapes: list(shape)", "use_inter_op_parallelism: bool = true", "metadata: string = ''").state(Queues).opaque()
)
