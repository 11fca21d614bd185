package ops

// Variables and checkpoints.
var (
	Assert                = define("Assert(condition: bool, data: [T])", "summarize: int = 3").state(Effects)
	Assign                = define("Assign(ref: &T, value: T) -> output_ref: &T", "validate_shape: bool = true", "use_locking: bool = true").state(Writes)
	AssignAddVariableOp   = define("AssignAddVariableOp(resource: resource, value: dtype)").state(Writes)
	AssignSubVariableOp   = define("AssignSubVariableOp(resource: resource, value: dtype)").state(Writes)
	AssignVariableOp      = define("AssignVariableOp(resource: resource, value: dtype)", "validate_shape: bool = false").state(Writes)
	DestroyResourceOp     = define("DestroyResourceOp(resource: resource)", "ignore_lookup_error: bool = true").state(Writes).opaque()
	IsVariableInitialized = define("IsVariableInitialized(ref: &dtype) -> is_initialized: bool").state(Reads)
	ReadVariableOp        = define("ReadVariableOp(resource: resource) -> value: dtype").state(Reads)
	RestoreV2             = define("RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> tensors: [dtypes]").state(Reads)
	VarHandleOp           = define("VarHandleOp() -> resource: resource",
		"container: string = ''", "shared_name: string = ''", "debug_name: string = ''", "dtype: type", "shape: shape", "allowed_devices: list(string) = []").state(Handle)
	VarIsInitializedOp = define("VarIsInitializedOp(resource: resource) -> is_initialized: bool").state(Reads)
	Variable           = define("Variable() -> ref: &dtype", "shape: shape", "container: string = ''", "shared_name: string = ''").state(Handle)
	VariableV2         = define("VariableV2() -> ref: &dtype", "shape: shape", "container: string = ''", "shared_name: string = ''").state(Handle)
	ResourceScatterAdd = define("ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype)", "dtype: numbers", "Tindices: indices").state(Writes)
	ResourceScatterSub = define("ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype)", "dtype: numbers", "Tindices: indices").state(Writes)
	AssignAdd          = define("AssignAdd(ref: &T, value: T) -> output_ref: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	AssignSub = define("AssignSub(ref: &T, value: T) -> output_ref: &T",
		"T: numbers", "use_locking: bool = false").state(Writes)
	CountUpTo = define("CountUpTo(ref: &T) -> output: T",
		"limit: int", "T: indices").state(Writes)
	DestroyTemporaryVariable = define("DestroyTemporaryVariable(ref: &T) -> value: T",
		"var_name: string").state(Writes)
	ResourceCountUpTo = define("ResourceCountUpTo(resource: resource) -> output: T",
		"limit: int", "T: indices").state(Writes)
	TemporaryVariable = define("TemporaryVariable() -> ref: &dtype",
		"shape: shape", "var_name: string = ''").state(Writes)
	MergeV2Checkpoints = define("MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string)",
		"delete_old_dirs: bool = true", "allow_missing_files: bool = false").state(Effects)
	Save            = define("Save(filename: string, tensor_names: string, data: [T])").state(Effects)
	SaveSlices      = define("SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: [T])").state(Effects)
	Restore         = define("Restore(file_pattern: string, tensor_name: string) -> tensor: dt", "preferred_shard: int = -1").state(Reads)
	RestoreSlice    = define("RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> tensor: dt", "preferred_shard: int = -1").state(Reads)
	SaveV2          = define("SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: [dtypes])").state(Effects)
	ShardedFilename = define("ShardedFilename(basename: string, shard: int32, num_shards: int32) -> filename: string")
	ShardedFilespec = define("ShardedFilespec(basename: string, num_shards: int32) -> filename: string")
)
