package ops

// Ops on quantized tensors, whose ranges go with them.
var (
	QuantizeV2 = define("QuantizeV2(input: float32, min_range: float32, max_range: float32) -> output: T, output_min: float32, output_max: float32",
		"T: {qint8, quint8, qint32, qint16, quint16}", "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'", "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'", "narrow_range: bool = false", "axis: int = -1", "ensure_minimum_range: float = 0.00999999978")
	Dequantize = define("Dequantize(input: T, min_range: float32, max_range: float32) -> output: dtype",
		"T: {qint8, quint8, qint32, qint16, quint16}", "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'", "narrow_range: bool = false", "axis: int = -1", "dtype: {bfloat16, float32} = float32").sameShape()
	Requantize = define("Requantize(input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32, requested_output_max: float32) -> output: out_type, output_min: float32, output_max: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16}")
	RequantizationRange = define("RequantizationRange(input: Tinput, input_min: float32, input_max: float32) -> output_min: float32, output_max: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}")
	QuantizeDownAndShrinkRange = define("QuantizeDownAndShrinkRange(input: Tinput, input_min: float32, input_max: float32) -> output: out_type, output_min: float32, output_max: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16}")
	QuantizedMatMul = define("QuantizedMatMul(a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32) -> out: Toutput, min_out: float32, max_out: float32",
		"T1: {qint8, quint8, qint32, qint16, quint16}", "T2: {qint8, quint8, qint32, qint16, quint16}", "Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32", "transpose_a: bool = false", "transpose_b: bool = false", "Tactivation: {qint8, quint8, qint32, qint16, quint16} = quint8")
	QuantizedConv2D = define("QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, max_filter: float32) -> output: out_type, min_output: float32, max_output: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}", "Tfilter: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16} = qint32", "strides: list(int)", "padding: {'SAME', 'VALID'}", "dilations: list(int) = [1, 1, 1, 1]")
	QuantizedBiasAdd = define("QuantizedBiasAdd(input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32) -> output: out_type, min_out: float32, max_out: float32",
		"T1: {qint8, quint8, qint32, qint16, quint16}", "T2: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16}")
	QuantizedRelu = define("QuantizedRelu(features: Tinput, min_features: float32, max_features: float32) -> activations: out_type, min_activations: float32, max_activations: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
	QuantizedRelu6 = define("QuantizedRelu6(features: Tinput, min_features: float32, max_features: float32) -> activations: out_type, min_activations: float32, max_activations: float32",
		"Tinput: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
	QuantizedMaxPool = define("QuantizedMaxPool(input: T, min_input: float32, max_input: float32) -> output: T, min_output: float32, max_output: float32",
		"T: {qint8, quint8, qint32, qint16, quint16}", "ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}")
	QuantizedAvgPool = define("QuantizedAvgPool(input: T, min_input: float32, max_input: float32) -> output: T, min_output: float32, max_output: float32",
		"T: {qint8, quint8, qint32, qint16, quint16}", "ksize: list(int)", "strides: list(int)", "padding: {'SAME', 'VALID'}")
	QuantizedReshape = define("QuantizedReshape(tensor: T, shape: Tshape, input_min: float32, input_max: float32) -> output: T, output_min: float32, output_max: float32",
		"T: type", "Tshape: indices = int32")
	QuantizedConcat = define("QuantizedConcat(concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32) -> output: T, output_min: float32, output_max: float32",
		"N: int", "T: type")
	QuantizedAdd                  = define("QuantizedAdd(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32) -> z: Toutput, min_z: float32, max_z: float32", "T1: {qint8, quint8, qint32, qint16, quint16}", "T2: {qint8, quint8, qint32, qint16, quint16}", "Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32")
	QuantizedMul                  = define("QuantizedMul(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32) -> z: Toutput, min_z: float32, max_z: float32", "T1: {qint8, quint8, qint32, qint16, quint16}", "T2: {qint8, quint8, qint32, qint16, quint16}", "Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32")
	QuantizedInstanceNorm         = define("QuantizedInstanceNorm(x: T, x_min: float32, x_max: float32) -> y: T, y_min: float32, y_max: float32", "T: {qint8, quint8, qint32, qint16, quint16}", "output_range_given: bool = false", "given_y_min: float = 0.0", "given_y_max: float = 0.0", "variance_epsilon: float = 1e-05", "min_separation: float = 0.001")
	QuantizedResizeBilinear       = define("QuantizedResizeBilinear(images: T, size: int32, min: float32, max: float32) -> resized_images: T, out_min: float32, out_max: float32", "T: {quint8, qint32, float32}", "align_corners: bool = false", "half_pixel_centers: bool = false")
	QuantizedReluX                = define("QuantizedReluX(features: Tinput, max_value: float32, min_features: float32, max_features: float32) -> activations: out_type, min_activations: float32, max_activations: float32", "Tinput: {qint8, quint8, qint32, qint16, quint16}", "out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
	RequantizePerChannel          = define("RequantizePerChannel(input: T, input_min: float32, input_max: float32, requested_output_min: float32, requested_output_max: float32) -> output: out_type, output_min: float32, output_max: float32", "T: {qint8, quint8, qint32, qint16, quint16} = qint32", "out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
	RequantizationRangePerChannel = define("RequantizationRangePerChannel(input: T, input_min: float32, input_max: float32) -> output_min: float32, output_max: float32", "T: {qint8, quint8, qint32, qint16, quint16} = qint32", "clip_value_max: float")
)
