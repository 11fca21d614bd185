package ops

// Strings.
var (
	DecodeBase64 = define("DecodeBase64(input: string) -> output: string").sameShape()
	DecodeRaw    = define("DecodeRaw(bytes: string) -> output: out_type",
		"out_type: {bool, int8, int16, int32, int64, uint8, uint16, float16, bfloat16, float32, float64, complex64, complex128}", "little_endian: bool = true")
	EncodeBase64             = define("EncodeBase64(input: string) -> output: string", "pad: bool = false").sameShape()
	ReduceJoin               = define("ReduceJoin(inputs: string, reduction_indices: int32) -> output: string", "keep_dims: bool = false", "separator: string = ''")
	StringFormat             = define("StringFormat(inputs: [T]) -> output: string", "template: string = '%s'", "placeholder: string = '%s'", "summarize: int = 3").opaque()
	StringJoin               = define("StringJoin(inputs: N*string) -> output: string", "separator: string = ''").grows()
	StringLength             = define("StringLength(input: string) -> output: int32", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'").sameShape()
	StringLower              = define("StringLower(input: string) -> output: string", "encoding: string = ''").sameShape()
	StringStrip              = define("StringStrip(input: string) -> output: string").sameShape()
	StringToHashBucket       = define("StringToHashBucket(string_tensor: string) -> output: int64", "num_buckets: int").sameShape()
	StringToHashBucketFast   = define("StringToHashBucketFast(input: string) -> output: int64", "num_buckets: int").sameShape()
	StringToHashBucketStrong = define("StringToHashBucketStrong(input: string) -> output: int64", "num_buckets: int", "key: list(int)").sameShape()
	StringUpper              = define("StringUpper(input: string) -> output: string", "encoding: string = ''").sameShape()
	Substr                   = define("Substr(input: string, pos: T, len: T) -> output: string", "T: indices", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'").sameShape()
	RegexFullMatch           = define("RegexFullMatch(input: string, pattern: string) -> output: bool").sameShape()
	RegexReplace             = define("RegexReplace(input: string, pattern: string, rewrite: string) -> output: string", "replace_global: bool = true").sameShape().grows()
	StaticRegexFullMatch     = define("StaticRegexFullMatch(input: string) -> output: bool", "pattern: string").sameShape()
	StaticRegexReplace       = define("StaticRegexReplace(input: string) -> output: string", "pattern: string", "rewrite: string", "replace_global: bool = true").sameShape().grows()
	StringSplit              = define("StringSplit(input: string, delimiter: string) -> indices: int64, values: string, shape: int64", "skip_empty: bool = true")
	StringSplitV2            = define("StringSplitV2(input: string, sep: string) -> indices: int64, values: string, shape: int64", "maxsplit: int = -1")
	AsString                 = define("AsString(input: T) -> output: string",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, string, variant}", "precision: int = -1", "scientific: bool = false", "shortest: bool = false", "width: int = -1", "fill: string = ''").sameShape()
	StringToNumber = define("StringToNumber(string_tensor: string) -> output: out_type", "out_type: {int32, int64, float32, float64} = float32").sameShape()
)
