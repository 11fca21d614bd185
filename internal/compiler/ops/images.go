package ops

// Convolutions, pools and other work on images.
var (
	AvgPool = define("AvgPool(value: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "T: floats").precision(Follows).heavy()
	Conv2D = define("Conv2D(input: T, filter: T) -> output: T",
		"T: {int32, float16, bfloat16, float32, float64}", "strides: list(int)", "use_cudnn_on_gpu: bool = true", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies).heavy()
	Conv2DBackpropInput = define("Conv2DBackpropInput(input_sizes: int32 unread, filter: T, out_backprop: T) -> output: T",
		"T: {int32, float16, bfloat16, float32, float64}", "strides: list(int)", "use_cudnn_on_gpu: bool = true", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies).grows()
	DepthwiseConv2dNative = define("DepthwiseConv2dNative(input: T, filter: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies).heavy()
	MaxPool = define("MaxPool(input: T) -> output: T",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64} = float32", "ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'").precision(Follows).heavy()
	ResizeBilinear = define("ResizeBilinear(images: T, size: int32 size) -> resized_images: float32",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64}", "align_corners: bool = false", "half_pixel_centers: bool = false").grows()
	ResizeNearestNeighbor = define("ResizeNearestNeighbor(images: T, size: int32 size) -> resized_images: T",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64}", "align_corners: bool = false", "half_pixel_centers: bool = false").grows()
	Conv2DBackpropFilter = define("Conv2DBackpropFilter(input: T, filter_sizes: int32 unread, out_backprop: T) -> output: T",
		"T: floats", "strides: list(int)", "use_cudnn_on_gpu: bool = true", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies)
	DepthwiseConv2dNativeBackpropFilter = define("DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32 unread, out_backprop: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies)
	DepthwiseConv2dNativeBackpropInput = define("DepthwiseConv2dNativeBackpropInput(input_sizes: int32 unread, filter: T, out_backprop: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1,1,1,1]").precision(Multiplies)
	AvgPoolGrad = define("AvgPoolGrad(orig_input_shape: int32 unread, grad: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "T: floats").precision(Follows)
	MaxPoolGrad = define("MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "T: reals = float32").precision(Follows)
	MaxPoolWithArgmax = define("MaxPoolWithArgmax(input: T) -> output: T, argmax: Targmax",
		"ksize: list(int)", "strides: list(int)", "Targmax: indices = int64", "padding: {'SAME', 'VALID'}", "include_batch_in_index: bool = false", "T: reals")
	MaxPoolGradWithArgmax = define("MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "include_batch_in_index: bool = false", "Targmax: indices", "T: reals").sameShape()
	ExtractImagePatches = define("ExtractImagePatches(images: T) -> patches: T",
		"ksizes: list(int)", "strides: list(int)", "rates: list(int)", "T: {bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool}", "padding: {'SAME', 'VALID'}")
	ExtractVolumePatches = define("ExtractVolumePatches(input: T) -> patches: T",
		"ksizes: list(int)", "strides: list(int)", "T: reals", "padding: {'SAME', 'VALID'}")
	Dilation2D = define("Dilation2D(input: T, filter: T) -> output: T",
		"T: reals", "strides: list(int)", "rates: list(int)", "padding: {'SAME', 'VALID'}")
	Dilation2DBackpropInput = define("Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> in_backprop: T",
		"T: reals", "strides: list(int)", "rates: list(int)", "padding: {'SAME', 'VALID'}")
	Dilation2DBackpropFilter = define("Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> filter_backprop: T",
		"T: reals", "strides: list(int)", "rates: list(int)", "padding: {'SAME', 'VALID'}")
	Conv3D = define("Conv3D(input: T, filter: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "dilations: list(int) = [1,1,1,1,1]").precision(Multiplies).heavy()
	Conv3DBackpropInputV2 = define("Conv3DBackpropInputV2(input_sizes: Tshape unread, filter: T, out_backprop: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "dilations: list(int) = [1,1,1,1,1]", "Tshape: indices = int32").precision(Multiplies).grows()
	Conv3DBackpropFilterV2 = define("Conv3DBackpropFilterV2(input: T, filter_sizes: int32 unread, out_backprop: T) -> output: T",
		"T: floats", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "dilations: list(int) = [1,1,1,1,1]").precision(Multiplies)
	MaxPool3D = define("MaxPool3D(input: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "T: floats").precision(Follows).heavy()
	MaxPool3DGrad = define("MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "T: floats = float32", "TInput: floats = float32").precision(Follows)
	AvgPool3D = define("AvgPool3D(input: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "T: floats").precision(Follows).heavy()
	AvgPool3DGrad = define("AvgPool3DGrad(orig_input_shape: int32 unread, grad: T) -> output: T",
		"ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}", "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'", "T: floats").precision(Follows)
	ResizeArea = define("ResizeArea(images: T, size: int32 size) -> resized_images: float32",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64}", "align_corners: bool = false").grows()
	ResizeBicubic = define("ResizeBicubic(images: T, size: int32 size) -> resized_images: float32",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64}", "align_corners: bool = false", "half_pixel_centers: bool = false").grows()
	ResizeBicubicGrad = define("ResizeBicubicGrad(grads: float32, original_image: T) -> output: T",
		"T: {float32, float64}", "align_corners: bool = false", "half_pixel_centers: bool = false")
	ScaleAndTranslate = define("ScaleAndTranslate(images: T, size: int32 size, scale: float32, translation: float32) -> resized_images: float32",
		"T: {int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64}", "kernel_type: string = 'lanczos3'", "antialias: bool = true").grows()
	ScaleAndTranslateGrad = define("ScaleAndTranslateGrad(grads: T, original_image: T, scale: float32, translation: float32) -> output: T",
		"T: {float32}", "kernel_type: string = 'lanczos3'", "antialias: bool = true")
	LRN = define("LRN(input: T) -> output: T",
		"depth_radius: int = 5", "bias: float = 1.0", "alpha: float = 1.0", "beta: float = 0.5", "T: {float16, bfloat16, float32} = float32").sameShape()
	AdjustContrastv2           = define("AdjustContrastv2(images: T, contrast_factor: float32) -> output: T", "T: {float16, float32} = float32").sameShape()
	AdjustHue                  = define("AdjustHue(images: T, delta: float32) -> output: T", "T: {float16, float32} = float32").sameShape()
	AdjustSaturation           = define("AdjustSaturation(images: T, scale: float32) -> output: T", "T: {float16, float32} = float32").sameShape()
	HSVToRGB                   = define("HSVToRGB(images: T) -> output: T", "T: floats = float32").sameShape()
	RGBToHSV                   = define("RGBToHSV(images: T) -> output: T", "T: floats = float32").sameShape()
	ImageProjectiveTransformV2 = define("ImageProjectiveTransformV2(images: dtype, transforms: float32, output_shape: int32) -> transformed_images: dtype", "dtype: {uint8, int32, int64, float16, float32, float64}", "interpolation: string", "fill_mode: string = 'CONSTANT'").grows()
	ImageProjectiveTransformV3 = define("ImageProjectiveTransformV3(images: dtype, transforms: float32, output_shape: int32, fill_value: float32) -> transformed_images: dtype", "dtype: {uint8, int32, int64, float16, float32, float64}", "interpolation: string", "fill_mode: string = 'CONSTANT'").grows()
	ExtractGlimpse             = define("ExtractGlimpse(input: float32, size: int32, offsets: float32) -> glimpse: float32", "centered: bool = true", "normalized: bool = true", "uniform_noise: bool = true", "noise: string = 'uniform'").state(Random).grows()
	ExtractGlimpseV2           = define("ExtractGlimpseV2(input: float32, size: int32, offsets: float32) -> glimpse: float32", "centered: bool = true", "normalized: bool = true", "uniform_noise: bool = true", "noise: string = 'uniform'").state(Random).grows()
	FractionalMaxPool          = define("FractionalMaxPool(value: T) -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64", "pooling_ratio: list(float)", "pseudo_random: bool = false", "overlapping: bool = false", "deterministic: bool = false", "seed: int = 0", "seed2: int = 0", "T: {float32, float64, int32, int64}").state(Random)
	FractionalAvgPool          = define("FractionalAvgPool(value: T) -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64", "pooling_ratio: list(float)", "pseudo_random: bool = false", "overlapping: bool = false", "deterministic: bool = false", "seed: int = 0", "seed2: int = 0", "T: {float32, float64, int32, int64}").state(Random)
)
