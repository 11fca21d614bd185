package ops

// Datasets of the records of files.
var (
	CSVDataset = define("CSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: [output_types]) -> handle: variant",
		"output_types: list({float32, float64, int32, int64, string})", "output_shapes: list(shape)").state(Queues).opaque()
	CSVDatasetV2 = define("CSVDatasetV2(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: [output_types], exclude_cols: int64) -> handle: variant",
		"output_types: list({float32, float64, int32, int64, string})", "output_shapes: list(shape)").state(Queues).opaque()
	ExperimentalCSVDataset = define("ExperimentalCSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: [output_types]) -> handle: variant",
		"output_types: list({float32, float64, int32, int64, string})", "output_shapes: list(shape)").state(Queues).opaque()
	FixedLengthRecordDataset = define("FixedLengthRecordDataset(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64) -> handle: variant",
		"metadata: string = ''").state(Queues).opaque()
	FixedLengthRecordDatasetV2 = define("FixedLengthRecordDatasetV2(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64, compression_type: string) -> handle: variant",
		"metadata: string = ''").state(Queues).opaque()
	MatchingFilesDataset = define("MatchingFilesDataset(patterns: string) -> handle: variant").state(Queues).opaque()
	TFRecordDataset      = define("TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64) -> handle: variant",
		"metadata: string = ''").state(Queues).opaque()
	TFRecordDatasetV2 = define("TFRecordDatasetV2(filenames: string, compression_type: string, buffer_size: int64, byte_offsets: int64) -> handle: variant",
		"metadata: string = ''").state(Queues).opaque()
	TextLineDataset = define("TextLineDataset(filenames: string, compression_type: string, buffer_size: int64) -> handle: variant",
		"metadata: string = ''").state(Queues).opaque()
)
