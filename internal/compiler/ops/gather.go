package ops

// Elements and rows by index, and sums by index.
var (
	DynamicPartition = define("DynamicPartition(data: T, partitions: int32) -> outputs: num_partitions*T")
	DynamicStitch    = define("DynamicStitch(indices: N*int32, data: N*T) -> merged: T").grows()
	Gather           = define("Gather(params: Tparams, indices: Tindices) -> output: Tparams", "validate_indices: bool = true", "Tindices: indices").lists()
	GatherNd         = define("GatherNd(params: Tparams, indices: Tindices) -> output: Tparams", "Tindices: {int16, int32, int64}").lists()
	GatherV2         = define("GatherV2(params: Tparams, indices: Tindices, axis: Taxis const) -> output: Tparams",
		"batch_dims: int = 0", "Tindices: {int16, int32, int64}", "Taxis: indices").lists()
	ParallelDynamicStitch = define("ParallelDynamicStitch(indices: N*int32, data: N*T) -> merged: T").grows()
	ResourceGather        = define("ResourceGather(resource: resource, indices: Tindices) -> output: dtype",
		"batch_dims: int = 0", "validate_indices: bool = true", "Tindices: indices").state(Reads)
	ResourceGatherNd    = define("ResourceGatherNd(resource: resource, indices: Tindices) -> output: dtype", "Tindices: indices").state(Reads)
	ScatterNd           = define("ScatterNd(indices: Tindices, updates: T, shape: Tindices size) -> output: T", "Tindices: {int16, int32, int64}").grows()
	TensorScatterAdd    = define("TensorScatterAdd(tensor: T, indices: Tindices, updates: T) -> output: T", "Tindices: indices").sameShape()
	TensorScatterUpdate = define("TensorScatterUpdate(tensor: T, indices: Tindices, updates: T) -> output: T", "Tindices: {int16, int32, int64, uint16}").sameShape()
	Where               = define("Where(input: T) -> index: int64",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128} = bool")
	SegmentMax        = define("SegmentMax(data: T, segment_ids: Tindices) -> output: T", "T: reals", "Tindices: indices")
	SegmentMean       = define("SegmentMean(data: T, segment_ids: Tindices) -> output: T", "T: numbers", "Tindices: indices")
	SegmentMin        = define("SegmentMin(data: T, segment_ids: Tindices) -> output: T", "T: reals", "Tindices: indices")
	SegmentProd       = define("SegmentProd(data: T, segment_ids: Tindices) -> output: T", "T: numbers", "Tindices: indices")
	SegmentSum        = define("SegmentSum(data: T, segment_ids: Tindices) -> output: T", "T: numbers", "Tindices: indices")
	SparseSegmentMean = define("SparseSegmentMean(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	SparseSegmentMeanWithNumSegments = define("SparseSegmentMeanWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tnumsegments: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	SparseSegmentSqrtN = define("SparseSegmentSqrtN(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	SparseSegmentSqrtNWithNumSegments = define("SparseSegmentSqrtNWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tnumsegments: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	SparseSegmentSum = define("SparseSegmentSum(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T",
		"T: reals", "Tidx: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	SparseSegmentSumWithNumSegments = define("SparseSegmentSumWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T",
		"T: reals", "Tidx: indices = int32", "Tnumsegments: indices = int32", "Tsegmentids: indices = int32", "sparse_gradient: bool = false")
	UnsortedSegmentMax = define("UnsortedSegmentMax(data: T, segment_ids: Tindices, num_segments: Tnumsegments size) -> output: T",
		"T: reals", "Tindices: indices", "Tnumsegments: indices = int32").grows()
	UnsortedSegmentMin = define("UnsortedSegmentMin(data: T, segment_ids: Tindices, num_segments: Tnumsegments size) -> output: T",
		"T: reals", "Tindices: indices", "Tnumsegments: indices = int32").grows()
	UnsortedSegmentProd = define("UnsortedSegmentProd(data: T, segment_ids: Tindices, num_segments: Tnumsegments size) -> output: T",
		"T: numbers", "Tindices: indices", "Tnumsegments: indices = int32").grows()
	UnsortedSegmentSum = define("UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnumsegments size) -> output: T",
		"T: numbers", "Tindices: {int16, int32, int64}", "Tnumsegments: indices = int32").grows()
	Bincount      = define("Bincount(arr: int32, size: int32, weights: T) -> bins: T", "T: {int32, int64, float32, float64}").grows()
	DenseBincount = define("DenseBincount(input: Tidx, size: Tidx, weights: T) -> output: T",
		"Tidx: indices", "T: {int32, int64, float32, float64}", "binary_output: bool = false").grows()
	RaggedBincount = define("RaggedBincount(splits: int64, values: Tidx, size: Tidx, weights: T) -> output: T",
		"Tidx: indices", "T: {int32, int64, float32, float64}", "binary_output: bool = false").grows()
	Bucketize          = define("Bucketize(input: T) -> output: int32", "T: {int32, int64, float32, float64}", "boundaries: list(float)").sameShape()
	ListDiff           = define("ListDiff(x: T, y: T) -> out: T, idx: out_idx", "out_idx: indices = int32")
	LowerBound         = define("LowerBound(sorted_inputs: T, values: T) -> output: out_type", "out_type: indices = int32")
	Unique             = define("Unique(x: T) -> y: T, idx: out_idx", "out_idx: indices = int32")
	UniqueV2           = define("UniqueV2(x: T, axis: Taxis) -> y: T, idx: out_idx", "Taxis: indices = int64", "out_idx: indices = int32")
	UniqueWithCounts   = define("UniqueWithCounts(x: T) -> y: T, idx: out_idx, count: out_idx", "out_idx: indices = int32")
	UniqueWithCountsV2 = define("UniqueWithCountsV2(x: T, axis: Taxis) -> y: T, idx: out_idx, count: out_idx",
		"Taxis: indices = int64", "out_idx: indices = int32")
	UpperBound = define("UpperBound(sorted_inputs: T, values: T) -> output: out_type", "out_type: indices = int32")
)
