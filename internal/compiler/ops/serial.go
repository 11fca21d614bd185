package ops

// Tensors, and sparse tensors, as strings or as numbers of what a map keeps.
var (
	SerializeTensor     = define("SerializeTensor(tensor: T) -> serialized: string")
	ParseTensor         = define("ParseTensor(serialized: string) -> output: out_type")
	SerializeSparse     = define("SerializeSparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> serialized_sparse: out_type", "out_type: {string, variant} = string")
	SerializeManySparse = define("SerializeManySparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> serialized_sparse: out_type",
		"out_type: {string, variant} = string")
	DeserializeSparse = define("DeserializeSparse(serialized_sparse: Tserialized) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
		"Tserialized: {string, variant} = string")
	DeserializeManySparse = define("DeserializeManySparse(serialized_sparse: string) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64")
	AddSparseToTensorsMap = define("AddSparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> sparse_handle: int64",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	AddManySparseToTensorsMap = define("AddManySparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> sparse_handles: int64",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	TakeManySparseFromTensorsMap = define("TakeManySparseFromTensorsMap(sparse_handles: int64) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
		"container: string = ''", "shared_name: string = ''").state(Queues)
)
