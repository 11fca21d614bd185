package ops

// Parts, joins and other orders of elements.
var (
	BroadcastTo       = define("BroadcastTo(input: T, shape: Tidx size) -> output: T", "Tidx: indices = int32").grows()
	Concat            = define("Concat(concat_dim: int32 const, values: N*T) -> output: T")
	ConcatV2          = define("ConcatV2(values: N*T, axis: Tidx const) -> output: T", "Tidx: indices = int32").lists().precision(Follows)
	DepthToSpace      = define("DepthToSpace(input: T) -> output: T", "block_size: int", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
	InvertPermutation = define("InvertPermutation(x: T) -> y: T", "T: indices = int32").sameShape()
	MirrorPad         = define("MirrorPad(input: T, paddings: Tpaddings) -> output: T", "Tpaddings: indices = int32", "mode: {'REFLECT', 'SYMMETRIC'}").grows()
	Pack              = define("Pack(values: N*T) -> output: T", "axis: int = 0").lists()
	Pad               = define("Pad(input: T, paddings: Tpaddings const) -> output: T", "Tpaddings: indices = int32").precision(Follows).grows()
	PadV2             = define("PadV2(input: T, paddings: Tpaddings const, constant_values: T) -> output: T", "Tpaddings: indices = int32").grows()
	ReverseV2         = define("ReverseV2(tensor: T, axis: Tidx) -> output: T",
		"Tidx: indices = int32", "T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, string}").lists().sameShape()
	Slice        = define("Slice(input: T, begin: Index const, size: Index size) -> output: T", "Index: indices").lists().precision(Follows)
	SpaceToDepth = define("SpaceToDepth(input: T) -> output: T", "block_size: int", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
	Split        = define("Split(split_dim: int32 const, value: T) -> output: num_split*T").lists()
	SplitV       = define("SplitV(value: T, size_splits: Tlen const, split_dim: int32 const) -> output: num_split*T", "Tlen: {int8, int32, int64} = int64")
	StridedSlice = define("StridedSlice(input: T, begin: Index const, end: Index size, strides: Index const) -> output: T",
		"Index: {int16, int32, int64}", "begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", "shrink_axis_mask: int = 0").lists().precision(Follows)
	Tile           = define("Tile(input: T, multiples: Tmultiples size) -> output: T", "Tmultiples: indices = int32").lists().grows()
	Transpose      = define("Transpose(x: T, perm: Tperm const) -> y: T", "Tperm: indices = int32").precision(Follows)
	Unpack         = define("Unpack(value: T) -> output: num*T", "axis: int = 0").lists()
	BatchToSpaceND = define("BatchToSpaceND(input: T, block_shape: Tblock_shape const, crops: Tcrops const) -> output: T",
		"Tblock_shape: indices = int32", "Tcrops: indices = int32").grows()
	BatchToSpace   = define("BatchToSpace(input: T, crops: Tidx const) -> output: T", "block_size: int", "Tidx: indices = int32").grows()
	SpaceToBatch   = define("SpaceToBatch(input: T, paddings: Tpaddings const) -> output: T", "Tpaddings: indices = int32", "block_size: int").grows()
	MatrixBandPart = define("MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> band: T", "Tindex: indices = int64").sameShape()
	Roll           = define("Roll(input: T, shift: Tshift, axis: Taxis) -> output: T", "Tshift: indices", "Taxis: indices").sameShape()
	SpaceToBatchND = define("SpaceToBatchND(input: T, block_shape: Tblock_shape const, paddings: Tpaddings const) -> output: T",
		"Tblock_shape: indices = int32", "Tpaddings: indices = int32").grows()
	StridedSliceGrad = define("StridedSliceGrad(shape: Index unread, begin: Index, end: Index unread, strides: Index, dy: T) -> output: T",
		"Index: indices", "begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", "shrink_axis_mask: int = 0")
	TensorStridedSliceUpdate = define("TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> output: T",
		"Index: indices", "begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", "shrink_axis_mask: int = 0").sameShape()
	XlaDynamicSlice       = define("XlaDynamicSlice(input: T, start_indices: Tindices, size_indices: Tindices size) -> output: T", "Tindices: indices")
	XlaDynamicUpdateSlice = define("XlaDynamicUpdateSlice(input: T, update: T, indices: Tindices) -> output: T", "Tindices: indices").sameShape()
	Reverse               = define("Reverse(tensor: T, dims: bool) -> output: T",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, string}").sameShape()
	ReverseSequence      = define("ReverseSequence(input: T, seq_lengths: Tlen) -> output: T", "seq_dim: int", "batch_dim: int = 0", "Tlen: indices = int64").sameShape()
	DataFormatDimMap     = define("DataFormatDimMap(x: T) -> y: T", "T: indices = int32", "src_format: string = 'NHWC'", "dst_format: string = 'NCHW'").sameShape()
	DataFormatVecPermute = define("DataFormatVecPermute(x: T) -> y: T", "T: indices = int32", "src_format: string = 'NHWC'", "dst_format: string = 'NCHW'").sameShape()
)
