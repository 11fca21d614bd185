package ops

// Sound, and labels of sequences.
var (
	AudioSpectrogram     = define("AudioSpectrogram(input: float32) -> spectrogram: float32", "window_size: int", "stride: int", "magnitude_squared: bool = false").grows()
	Mfcc                 = define("Mfcc(spectrogram: float32, sample_rate: int32) -> output: float32", "upper_frequency_limit: float = 4000.0", "lower_frequency_limit: float = 20.0", "filterbank_channel_count: int = 40", "dct_coefficient_count: int = 13")
	DecodeWav            = define("DecodeWav(contents: string) -> audio: float32, sample_rate: int32", "desired_channels: int = -1", "desired_samples: int = -1")
	EncodeWav            = define("EncodeWav(audio: float32, sample_rate: int32) -> contents: string")
	CTCGreedyDecoder     = define("CTCGreedyDecoder(inputs: T, sequence_length: int32) -> decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T", "merge_repeated: bool = false", "blank_index: int = -1", "T: {float32, float64} = float32")
	CTCBeamSearchDecoder = define("CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> decoded_indices: top_paths*int64, decoded_values: top_paths*int64, decoded_shape: top_paths*int64, log_probability: T", "beam_width: int", "merge_repeated: bool = true", "T: {float32, float64} = float32")
	CTCLoss              = define("CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> loss: T, gradient: T", "preprocess_collapse_repeated: bool = false", "ctc_merge_repeated: bool = true", "ignore_longer_outputs_than_inputs: bool = false", "T: {float32, float64} = float32")
	CTCLossV2            = define("CTCLossV2(inputs: float32, labels_indices: int64, labels_values: int32, sequence_length: int32) -> loss: float32, gradient: float32", "preprocess_collapse_repeated: bool = false", "ctc_merge_repeated: bool = true", "ignore_longer_outputs_than_inputs: bool = false")
)
