package ops

// Summaries and what writes them.
var (
	AudioSummary = define("AudioSummary(tag: string, tensor: float32) -> summary: string",
		"sample_rate: float", "max_outputs: int = 3")
	AudioSummaryV2 = define("AudioSummaryV2(tag: string, tensor: float32, sample_rate: float32) -> summary: string",
		"max_outputs: int = 3")
	CloseSummaryWriter      = define("CloseSummaryWriter(writer: resource)").state(Queues)
	CreateSummaryFileWriter = define("CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string)").state(Queues)
	FlushSummaryWriter      = define("FlushSummaryWriter(writer: resource)").state(Queues)
	HistogramSummary        = define("HistogramSummary(tag: string, values: T) -> summary: string",
		"T: reals = float32")
	ImageSummary = define("ImageSummary(tag: string, tensor: T) -> summary: string",
		"max_images: int = 3", "T: {uint8, float32, float16, float64} = float32", "bad_color: tensor")
	ImportEvent   = define("ImportEvent(writer: resource, event: string)").state(Queues)
	MergeSummary  = define("MergeSummary(inputs: N*string) -> summary: string")
	ScalarSummary = define("ScalarSummary(tags: string, values: T) -> summary: string",
		"T: reals")
	SummaryWriter = define("SummaryWriter() -> writer: resource",
		"shared_name: string = ''", "container: string = ''").state(Queues)
	TensorSummary = define("TensorSummary(tensor: T) -> summary: string",
		"description: string = ''", "labels: list(string) = []", "display_name: string = ''")
	TensorSummaryV2   = define("TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> summary: string")
	WriteAudioSummary = define("WriteAudioSummary(writer: resource, step: int64, tag: string, tensor: float32, sample_rate: float32)",
		"max_outputs: int = 3").state(Queues)
	WriteGraphSummary     = define("WriteGraphSummary(writer: resource, step: int64, tensor: string)").state(Queues)
	WriteHistogramSummary = define("WriteHistogramSummary(writer: resource, step: int64, tag: string, values: T)",
		"T: {float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32, uint64, bool} = float32").state(Queues)
	WriteImageSummary = define("WriteImageSummary(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8)",
		"max_images: int = 3", "T: {uint8, float64, float32, float16} = float32").state(Queues)
	WriteRawProtoSummary = define("WriteRawProtoSummary(writer: resource, step: int64, tensor: string)").state(Queues)
	WriteScalarSummary   = define("WriteScalarSummary(writer: resource, step: int64, tag: string, value: T)",
		"T: reals").state(Queues)
	WriteSummary = define("WriteSummary(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string)").state(Queues)
)
