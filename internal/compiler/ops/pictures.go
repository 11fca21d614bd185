package ops

// Encoded images: JPEG, PNG, GIF and BMP.
var (
	DecodeJpeg = define("DecodeJpeg(contents: string) -> image: uint8",
		"channels: int = 0", "ratio: int = 1", "fancy_upscaling: bool = true", "try_recover_truncated: bool = false", "acceptable_fraction: float = 1.0", "dct_method: string = ''").grows()
	DecodeAndCropJpeg = define("DecodeAndCropJpeg(contents: string, crop_window: int32) -> image: uint8",
		"channels: int = 0", "ratio: int = 1", "fancy_upscaling: bool = true", "try_recover_truncated: bool = false", "acceptable_fraction: float = 1.0", "dct_method: string = ''").grows()
	DecodePng        = define("DecodePng(contents: string) -> image: dtype", "channels: int = 0", "dtype: {uint8, uint16} = uint8").grows()
	DecodeGif        = define("DecodeGif(contents: string) -> image: uint8").grows()
	DecodeBmp        = define("DecodeBmp(contents: string) -> image: uint8", "channels: int = 0").grows()
	DecodeImage      = define("DecodeImage(contents: string) -> image: dtype", "channels: int = 0", "dtype: {uint8, uint16, float32} = uint8", "expand_animations: bool = true").grows()
	ExtractJpegShape = define("ExtractJpegShape(contents: string) -> image_shape: output_type", "output_type: {int32, int64} = int32")
	EncodeJpeg       = define("EncodeJpeg(image: uint8) -> contents: string",
		"format: {'', 'grayscale', 'rgb'} = ''", "quality: int = 95", "progressive: bool = false", "optimize_size: bool = false", "chroma_downsampling: bool = true",
		"density_unit: {'in', 'cm'} = 'in'", "x_density: int = 300", "y_density: int = 300", "xmp_metadata: string = ''")
	EncodeJpegVariableQuality = define("EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string")
	EncodePng                 = define("EncodePng(image: T) -> contents: string", "compression: int = -1", "T: {uint8, uint16} = uint8")
)
