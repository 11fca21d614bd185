package ops

// Ops that training graphs have and inference graphs have not, gradients most of them.
var (
	ConcatOffset  = define("ConcatOffset(concat_dim: int32, shape: N*shape_type) -> offset: N*shape_type", "N: int", "shape_type: indices = int32")
	MirrorPadGrad = define("MirrorPadGrad(input: T, paddings: Tpaddings) -> output: T", "mode: {'REFLECT', 'SYMMETRIC'}", "T: numbers", "Tpaddings: indices = int32")
	Diag          = define("Diag(diagonal: T) -> output: T", "T: numbers").grows()
	DiagPart      = define("DiagPart(input: T) -> diagonal: T", "T: numbers")
	InTopK        = define("InTopK(predictions: float32, targets: T) -> precision: bool", "k: int", "T: indices = int32")
	Qr            = define("Qr(input: T) -> q: T, r: T", "full_matrices: bool = false", "T: {float16, float32, float64, complex64, complex128}").grows()

	SparseSegmentSumGrad = define("SparseSegmentSumGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tsegmentids: indices = int32").grows()
	SparseSegmentMeanGrad = define("SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tsegmentids: indices = int32").grows()
	SparseSegmentSqrtNGrad = define("SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T",
		"T: floats", "Tidx: indices = int32", "Tsegmentids: indices = int32").grows()

	FusedBatchNormGrad = define("FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
		"T: {float32}", "epsilon: float = 9.99999975e-05", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "is_training: bool = true")
	FusedBatchNormGradV2 = define("FusedBatchNormGradV2(y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U) -> x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U",
		"T: {float16, bfloat16, float32}", "U: {float32}", "epsilon: float = 9.99999975e-05", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "is_training: bool = true")
	LRNGrad = define("LRNGrad(input_grads: T, input_image: T, output_image: T) -> output: T",
		"depth_radius: int = 5", "bias: float = 1.0", "alpha: float = 1.0", "beta: float = 0.5", "T: {float16, bfloat16, float32} = float32").sameShape()
	ResizeBilinearGrad = define("ResizeBilinearGrad(grads: float32, original_image: T) -> output: T",
		"T: floats", "align_corners: bool = false", "half_pixel_centers: bool = false")
	ResizeNearestNeighborGrad = define("ResizeNearestNeighborGrad(grads: T, size: int32) -> output: T",
		"T: {int8, int32, uint8, float16, float32, float64}", "align_corners: bool = false", "half_pixel_centers: bool = false").grows()
)

// Slices of variables that are replaced, and a hint that reads need no copy.
var (
	StridedSliceAssign = define("StridedSliceAssign(ref: &T, begin: Index, end: Index, strides: Index, value: T) -> output_ref: &T",
		"Index: indices", "begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", "shrink_axis_mask: int = 0").state(Writes)
	ResourceStridedSliceAssign = define("ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: T)",
		"Index: indices", "begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0", "new_axis_mask: int = 0", "shrink_axis_mask: int = 0").state(Writes)
	DisableCopyOnRead = define("DisableCopyOnRead(resource: resource)").state(Effects)
)
