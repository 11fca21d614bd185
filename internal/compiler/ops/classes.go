package ops

// Biases, softmax, cross entropy and batch normalization.
var (
	BiasAdd                             = define("BiasAdd(value: T, bias: T) -> output: T", "T: numbers", "data_format: {'NHWC', 'NCHW'} = 'NHWC'").sameShape().precision(Follows).cuda("%1 + %2", "f")
	BiasAddV1                           = define("BiasAddV1(value: T, bias: T) -> output: T", "T: numbers").sameShape()
	BiasAddGrad                         = define("BiasAddGrad(out_backprop: T) -> output: T", "T: numbers", "data_format: {'NHWC', 'NCHW'} = 'NHWC'").precision(SumsUp)
	Softmax                             = define("Softmax(logits: T) -> softmax: T", "T: floats").sameShape()
	LogSoftmax                          = define("LogSoftmax(logits: T) -> logsoftmax: T", "T: floats").sameShape()
	SoftmaxCrossEntropyWithLogits       = define("SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> loss: T, backprop: T", "T: floats")
	SparseSoftmaxCrossEntropyWithLogits = define("SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> loss: T, backprop: T",
		"T: floats", "Tlabels: indices = int64").precision(SumsUp)
	FusedBatchNorm = define("FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T",
		"T: {float32}", "epsilon: float = 9.99999975e-05", "exponential_avg_factor: float = 1.0", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "is_training: bool = true").heavy()
	FusedBatchNormV2 = define("FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U",
		"T: {float16, bfloat16, float32}", "U: {float32}", "epsilon: float = 9.99999975e-05", "exponential_avg_factor: float = 1.0", "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "is_training: bool = true").heavy()
	FusedBatchNormV3 = define("FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U",
		"T: {float16, bfloat16, float32}", "U: {bfloat16, float32}", "epsilon: float = 9.99999975e-05", "exponential_avg_factor: float = 1.0", "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'", "is_training: bool = true").precision(Follows).heavy()
	FusedBatchNormGradV3 = define("FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U) -> x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
		"T: {float16, bfloat16, float32}", "U: {float32}", "epsilon: float = 9.99999975e-05", "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'", "is_training: bool = true").precision(Follows)
)
