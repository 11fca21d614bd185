package ops

// Text and bytes as tensors.
var (
	DecodeCSV = define("DecodeCSV(records: string, record_defaults: [OUT_TYPE]) -> output: [OUT_TYPE]",
		"OUT_TYPE: list({float32, float64, int32, int64, string})", "field_delim: string = ','", "use_quote_delim: bool = true", "na_value: string = ''", "select_cols: list(int) = []")
	DecodeCompressed = define("DecodeCompressed(bytes: string) -> output: string",
		"compression_type: string = ''").sameShape().grows()
	DecodePaddedRaw = define("DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> output: out_type",
		"out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, bfloat16}", "little_endian: bool = true").grows()
)
