package ops

// Ops that simulate quantization in floating point.
var (
	FakeQuantWithMinMaxArgs = define("FakeQuantWithMinMaxArgs(inputs: float32) -> outputs: float32",
		"min: float = -6.0", "max: float = 6.0", "num_bits: int = 8", "narrow_range: bool = false").sameShape()
	FakeQuantWithMinMaxArgsGradient = define("FakeQuantWithMinMaxArgsGradient(gradients: float32, inputs: float32) -> backprops: float32",
		"min: float = -6.0", "max: float = 6.0", "num_bits: int = 8", "narrow_range: bool = false").sameShape()
	FakeQuantWithMinMaxVars = define("FakeQuantWithMinMaxVars(inputs: float32, min: float32, max: float32) -> outputs: float32",
		"num_bits: int = 8", "narrow_range: bool = false").sameShape()
	FakeQuantWithMinMaxVarsGradient = define("FakeQuantWithMinMaxVarsGradient(gradients: float32, inputs: float32, min: float32, max: float32) -> backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
		"num_bits: int = 8", "narrow_range: bool = false")
	FakeQuantWithMinMaxVarsPerChannel = define("FakeQuantWithMinMaxVarsPerChannel(inputs: float32, min: float32, max: float32) -> outputs: float32",
		"num_bits: int = 8", "narrow_range: bool = false").sameShape()
	FakeQuantWithMinMaxVarsPerChannelGradient = define("FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float32, inputs: float32, min: float32, max: float32) -> backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
		"num_bits: int = 8", "narrow_range: bool = false")

	QuantizeAndDequantize = define("QuantizeAndDequantize(input: T) -> output: T",
		"signed_input: bool = true", "num_bits: int = 8", "range_given: bool = false", "input_min: float = 0.0", "input_max: float = 0.0", "T: {bfloat16, float16, float32, float64}").sameShape()
	QuantizeAndDequantizeV2 = define("QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> output: T",
		"signed_input: bool = true", "num_bits: int = 8", "range_given: bool = false", "T: {bfloat16, float16, float32, float64}", "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'", "narrow_range: bool = false", "axis: int = -1").sameShape()
	QuantizeAndDequantizeV3 = define("QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> output: T",
		"signed_input: bool = true", "range_given: bool = true", "T: {bfloat16, float16, float32, float64}", "narrow_range: bool = false", "axis: int = -1").sameShape()
	QuantizeAndDequantizeV4 = define("QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T) -> output: T",
		"signed_input: bool = true", "num_bits: int = 8", "range_given: bool = false", "T: {bfloat16, float16, float32, float64}", "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'", "narrow_range: bool = false", "axis: int = -1").sameShape()
	QuantizeAndDequantizeV4Grad = define("QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T) -> input_backprop: T, input_min_backprop: T, input_max_backprop: T",
		"T: {bfloat16, float16, float32, float64}", "axis: int = -1")
)
