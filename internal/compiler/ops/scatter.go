package ops

// Updates of rows and slices of variables, by index.
var (
	ResourceScatterDiv = define("ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype)",
		"dtype: numbers", "Tindices: indices").state(Writes)
	ResourceScatterMax = define("ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype)",
		"dtype: numbers", "Tindices: indices").state(Writes)
	ResourceScatterMin = define("ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype)",
		"dtype: numbers", "Tindices: indices").state(Writes)
	ResourceScatterMul = define("ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype)",
		"dtype: numbers", "Tindices: indices").state(Writes)
	ResourceScatterNdAdd = define("ResourceScatterNdAdd(ref: resource, indices: Tindices, updates: T)",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ResourceScatterNdMax = define("ResourceScatterNdMax(ref: resource, indices: Tindices, updates: T)",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ResourceScatterNdMin = define("ResourceScatterNdMin(ref: resource, indices: Tindices, updates: T)",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ResourceScatterNdSub = define("ResourceScatterNdSub(ref: resource, indices: Tindices, updates: T)",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ResourceScatterNdUpdate = define("ResourceScatterNdUpdate(ref: resource, indices: Tindices, updates: T)",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ResourceScatterUpdate = define("ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype)",
		"Tindices: indices").state(Writes)
	ScatterAdd = define("ScatterAdd(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterDiv = define("ScatterDiv(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterMax = define("ScatterMax(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: {float16, bfloat16, float32, float64, int32, int64}", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterMin = define("ScatterMin(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: {float16, bfloat16, float32, float64, int32, int64}", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterMul = define("ScatterMul(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterNdMax = define("ScatterNdMax(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterNdMin = define("ScatterNdMin(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterNdAdd = define("ScatterNdAdd(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterNdSub = define("ScatterNdSub(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterNdUpdate = define("ScatterNdUpdate(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	ScatterSub = define("ScatterSub(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"T: numbers", "Tindices: indices", "use_locking: bool = false").state(Writes)
	ScatterUpdate = define("ScatterUpdate(ref: &T, indices: Tindices, updates: T) -> output_ref: &T",
		"Tindices: indices", "use_locking: bool = true").state(Writes)
	InplaceAdd    = define("InplaceAdd(x: T, i: int32, v: T) -> y: T")
	InplaceSub    = define("InplaceSub(x: T, i: int32, v: T) -> y: T")
	InplaceUpdate = define("InplaceUpdate(x: T, i: int32, v: T) -> y: T")
)
