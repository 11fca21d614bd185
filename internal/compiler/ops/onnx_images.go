package ops

// Ops on images with their channels first that models of ONNX become where TensorFlow has none.
var (
	// RoiAlign cuts regions (x1, y1, x2, y2) out of images [n, channels, height, width]: each element of a crop is the mean, or the largest,
	// of samples between pixels. batch says which image a region is of.
	RoiAlign = define("_RoiAlign(images: T, rois: T, batch: int64) -> crops: T", "T: {float32, float64}", "maximum: bool = false", "high: int = 1", "wide: int = 1",
		"samples: int = 0", "scale: float = 1.0", "half_pixel: bool = true").grows()
	// GridSample reads images [n, channels, sizes...] at the positions in a grid [n, sizes..., directions], from -1 to 1 across the image.
	GridSample = define("_GridSample(images: T, grid: T) -> samples: T", "T: {float32, float64}", "mode: {'linear', 'nearest', 'cubic'} = 'linear'",
		"padding: {'zeros', 'border', 'reflection'} = 'zeros'", "align_corners: bool = false").grows()
	// SelectBoxes chooses among boxes [images, boxes, 4] by their scores [images, classes, boxes], up to most boxes for each class
	// of an image, and returns rows of (image, class, box).
	SelectBoxes = define("_SelectBoxes(boxes: float32, scores: float32, most: int64, overlap: float32, least: float32) -> selected: int64").grows()
)
