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
	DrawBoundingBoxes                   = define("DrawBoundingBoxes(images: T, boxes: float32) -> output: T", "T: {float32, float16} = float32").sameShape()
	DrawBoundingBoxesV2                 = define("DrawBoundingBoxesV2(images: T, boxes: float32, colors: float32) -> output: T", "T: {float32, float16} = float32").sameShape()
	SampleDistortedBoundingBox          = define("SampleDistortedBoundingBox(image_size: T, bounding_boxes: float32) -> begin: T, size: T, bboxes: float32", "T: {uint8, int8, int16, int32, int64}", "seed: int = 0", "seed2: int = 0", "min_object_covered: float = 0.1", "aspect_ratio_range: list(float) = [0.75, 1.33]", "area_range: list(float) = [0.05, 1.0]", "max_attempts: int = 100", "use_image_if_no_bounding_boxes: bool = false").state(Random)
	SampleDistortedBoundingBoxV2        = define("SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float32, min_object_covered: float32) -> begin: T, size: T, bboxes: float32", "T: {uint8, int8, int16, int32, int64}", "seed: int = 0", "seed2: int = 0", "aspect_ratio_range: list(float) = [0.75, 1.33]", "area_range: list(float) = [0.05, 1.0]", "max_attempts: int = 100", "use_image_if_no_bounding_boxes: bool = false").state(Random)
	StatelessSampleDistortedBoundingBox = define("StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: float32, min_object_covered: float32, seed: Tseed) -> begin: T, size: T, bboxes: float32", "T: {uint8, int8, int16, int32, int64}", "Tseed: indices", "aspect_ratio_range: list(float) = [0.75, 1.33]", "area_range: list(float) = [0.05, 1.0]", "max_attempts: int = 100", "use_image_if_no_bounding_boxes: bool = false")
	GenerateBoundingBoxProposals        = define("GenerateBoundingBoxProposals(scores: float32, bbox_deltas: float32, image_info: float32, anchors: float32, nms_threshold: float32, pre_nms_topn: int32, min_size: float32) -> rois: float32, roi_probabilities: float32", "post_nms_topn: int = 300")
)
