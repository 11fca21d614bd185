package ops

// Boxes: which to keep, and what images show in them.
var (
	NonMaxSuppression   = define("NonMaxSuppression(boxes: float32, scores: float32, max_output_size: int32) -> selected_indices: int32", "iou_threshold: float = 0.5").grows()
	NonMaxSuppressionV2 = define("NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold) -> selected_indices: int32",
		"T: {float16, float32} = float32", "T_threshold: {float16, float32} = float32").grows()
	NonMaxSuppressionV3 = define("NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold) -> selected_indices: int32",
		"T: {float16, float32} = float32", "T_threshold: {float16, float32} = float32").grows()
	NonMaxSuppressionV4 = define("NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold) -> selected_indices: int32, valid_outputs: int32",
		"T: {float16, float32} = float32", "T_threshold: {float16, float32} = float32", "pad_to_max_output_size: bool = false").grows()
	NonMaxSuppressionV5 = define("NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T) -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
		"T: {float16, float32} = float32", "pad_to_max_output_size: bool = false").grows()
	NonMaxSuppressionWithOverlaps = define("NonMaxSuppressionWithOverlaps(overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, score_threshold: float32) -> selected_indices: int32").grows()
	CombinedNonMaxSuppression     = define("CombinedNonMaxSuppression(boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float32, score_threshold: float32) -> nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
		"pad_per_class: bool = false", "clip_boxes: bool = true").grows()
	CropAndResize = define("CropAndResize(image: T, boxes: float32, box_ind: int32, crop_size: int32) -> crops: float32",
		"T: {uint8, uint16, int8, int16, int32, int64, float16, float32, float64}", "method: {'bilinear', 'nearest'} = 'bilinear'", "extrapolation_value: float = 0.0").grows()
	CropAndResizeGradImage = define("CropAndResizeGradImage(grads: float32, boxes: float32, box_ind: int32, image_size: int32) -> output: T",
		"T: {float16, float32, float64}", "method: {'bilinear', 'nearest'} = 'bilinear'").grows()
	CropAndResizeGradBoxes = define("CropAndResizeGradBoxes(grads: float32, image: T, boxes: float32, box_ind: int32) -> output: float32",
		"T: {uint8, uint16, int8, int16, int32, int64, float16, float32, float64}", "method: {'bilinear'} = 'bilinear'")
)
