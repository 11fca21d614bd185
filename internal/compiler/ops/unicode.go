package ops

// Characters of texts, and neighbours among words.
var (
	StringNGrams             = define("StringNGrams(data: string, data_splits: Tsplits) -> ngrams: string, ngrams_splits: Tsplits", "separator: string", "ngram_widths: list(int)", "left_pad: string", "right_pad: string", "pad_width: int", "preserve_short_sequences: bool", "Tsplits: indices = int64").grows()
	UnicodeDecode            = define("UnicodeDecode(input: string) -> row_splits: Tsplits, char_values: int32", "input_encoding: string", "errors: {'strict', 'replace', 'ignore'} = 'replace'", "replacement_char: int = 65533", "replace_control_characters: bool = false", "Tsplits: indices = int64")
	UnicodeDecodeWithOffsets = define("UnicodeDecodeWithOffsets(input: string) -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64", "input_encoding: string", "errors: {'strict', 'replace', 'ignore'} = 'replace'", "replacement_char: int = 65533", "replace_control_characters: bool = false", "Tsplits: indices = int64")
	UnicodeEncode            = define("UnicodeEncode(input_values: int32, input_splits: Tsplits) -> output: string", "errors: {'ignore', 'replace', 'strict'} = 'replace'", "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}", "replacement_char: int = 65533", "Tsplits: indices = int64")
	UnicodeTranscode         = define("UnicodeTranscode(input: string) -> output: string", "input_encoding: string", "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}", "errors: {'strict', 'replace', 'ignore'} = 'replace'", "replacement_char: int = 65533", "replace_control_characters: bool = false").sameShape()
	UnicodeScript            = define("UnicodeScript(input: int32) -> output: int32").sameShape()
	UnsortedSegmentJoin      = define("UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> output: string", "separator: string = ''", "Tindices: indices", "Tnumsegments: indices = int32").grows()
	Fingerprint              = define("Fingerprint(data: T, method: string) -> fingerprint: uint8")
)
