package ops

// Lookup tables.
var (
	AnonymousHashTable             = define("AnonymousHashTable() -> table_handle: resource", "key_dtype: type", "value_dtype: type").state(Handle)
	AnonymousMutableDenseHashTable = define("AnonymousMutableDenseHashTable(empty_key: key_dtype, deleted_key: key_dtype) -> table_handle: resource",
		"value_dtype: type", "value_shape: shape = []", "initial_num_buckets: int = 131072", "max_load_factor: float = 0.800000012").state(Handle)
	AnonymousMutableHashTable          = define("AnonymousMutableHashTable() -> table_handle: resource", "key_dtype: type", "value_dtype: type").state(Handle)
	AnonymousMutableHashTableOfTensors = define("AnonymousMutableHashTableOfTensors() -> table_handle: resource",
		"key_dtype: type", "value_dtype: type", "value_shape: shape = []").state(Handle)
	HashTable = define("HashTable() -> table_handle: &string",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type").state(Handle)
	HashTableV2 = define("HashTableV2() -> table_handle: resource",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type").state(Handle)
	InitializeTable             = define("InitializeTable(table_handle: &string, keys: Tkey, values: Tval)").state(Writes)
	InitializeTableFromTextFile = define("InitializeTableFromTextFile(table_handle: &string, filename: string)",
		"key_index: int", "value_index: int", "vocab_size: int = -1", "delimiter: string = '	'", "offset: int = 0").state(Writes)
	InitializeTableFromTextFileV2 = define("InitializeTableFromTextFileV2(table_handle: resource, filename: string)",
		"key_index: int", "value_index: int", "vocab_size: int = -1", "delimiter: string = '	'", "offset: int = 0").state(Writes)
	InitializeTableV2       = define("InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval)").state(Writes)
	LookupTableExport       = define("LookupTableExport(table_handle: &string) -> keys: Tkeys, values: Tvalues").state(Reads)
	LookupTableExportV2     = define("LookupTableExportV2(table_handle: resource) -> keys: Tkeys, values: Tvalues").state(Reads)
	LookupTableFind         = define("LookupTableFind(table_handle: &string, keys: Tin, default_value: Tout) -> values: Tout").state(Reads)
	LookupTableFindV2       = define("LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> values: Tout").state(Reads)
	LookupTableImport       = define("LookupTableImport(table_handle: &string, keys: Tin, values: Tout)").state(Writes)
	LookupTableImportV2     = define("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout)").state(Writes)
	LookupTableInsert       = define("LookupTableInsert(table_handle: &string, keys: Tin, values: Tout)").state(Writes)
	LookupTableInsertV2     = define("LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout)").state(Writes)
	LookupTableRemoveV2     = define("LookupTableRemoveV2(table_handle: resource, keys: Tin)").state(Writes)
	LookupTableSize         = define("LookupTableSize(table_handle: &string) -> size: int64").state(Reads)
	LookupTableSizeV2       = define("LookupTableSizeV2(table_handle: resource) -> size: int64").state(Reads)
	MutableDenseHashTableV2 = define("MutableDenseHashTableV2(empty_key: key_dtype, deleted_key: key_dtype) -> table_handle: resource",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "value_dtype: type", "value_shape: shape = []", "initial_num_buckets: int = 131072", "max_load_factor: float = 0.800000012").state(Handle)
	MutableHashTable = define("MutableHashTable() -> table_handle: &string",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type").state(Handle)
	MutableHashTableOfTensors = define("MutableHashTableOfTensors() -> table_handle: &string",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type", "value_shape: shape = []").state(Handle)
	MutableHashTableOfTensorsV2 = define("MutableHashTableOfTensorsV2() -> table_handle: resource",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type", "value_shape: shape = []").state(Handle)
	MutableHashTableV2 = define("MutableHashTableV2() -> table_handle: resource",
		"container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false", "key_dtype: type", "value_dtype: type").state(Handle)
)
