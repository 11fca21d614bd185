package ops

// Texts and their tokens: ops of the package TensorFlow Text, which TensorFlow Serving has too.
var (
	CaseFoldUTF8                     = define("CaseFoldUTF8(input: string) -> output: string").sameShape().grows()
	NormalizeUTF8                    = define("NormalizeUTF8(input: string) -> output: string", "normalization_form: string").sameShape().grows()
	RegexSplitWithOffsets            = define("RegexSplitWithOffsets(input: string, delim_regex_pattern: string, keep_delim_regex_pattern: string) -> tokens: string, begin_offsets: int64, end_offsets: int64, row_splits: int64")
	WhitespaceTokenizeWithOffsets    = define("WhitespaceTokenizeWithOffsets(input_values: int32, input_splits: Tsplits) -> output_values: int32, output_values_inner_splits: Tsplits, output_offset_starts: int64, output_offset_limits: int64, output_outer_splits: Tsplits", "Tsplits: indices = int64")
	TextWhitespaceTokenizeV2         = define("TFText>WhitespaceTokenizeWithOffsetsV2(input_values: string, input_config: string) -> output_tokens: string, output_row_splits: int64, output_start_offsets: int32, output_end_offsets: int32")
	TextByteSplitWithOffsets         = define("TFText>ByteSplitWithOffsets(input_values: string) -> output_bytes: uint8, output_row_splits: int64, output_start_offsets: int32, output_end_offsets: int32")
	UnicodeScriptTokenizeWithOffsets = define("UnicodeScriptTokenizeWithOffsets(input_values: int32, input_splits: Tsplits) -> output_values: int32, output_values_inner_splits: Tsplits, output_offset_starts: int64, output_offset_limits: int64, output_outer_splits: Tsplits", "Tsplits: indices = int64", "keep_whitespace: bool = false")
	WordpieceTokenizeWithOffsets     = define("WordpieceTokenizeWithOffsets(input_values: string, vocab_lookup_table: resource) -> output_values: string, output_row_lengths: int64, start_values: int64, limit_values: int64",
		"suffix_indicator: string", "max_bytes_per_word: int", "max_chars_per_token: int = 0", "use_unknown_token: bool", "unknown_token: string", "split_unknown_characters: bool = false", "output_row_partition_type: {'row_lengths', 'row_splits'} = 'row_lengths'").state(Reads).opaque()
	TextRoundRobinTrim          = define("TFText>RoundRobinTrim(max_sequence_length: int32, input_values: N*T, input_row_splits: N*Tsplits) -> values: N*T, row_splits: N*Tsplits", "Tsplits: indices")
	TextRoundRobinGenerateMasks = define("TFText>RoundRobinGenerateMasks(max_sequence_length: int32, input_values: N*T, input_row_splits: N*Tsplits) -> masks: N*bool", "Tsplits: indices")
	TextNgramsStringJoin        = define("TFText>NgramsStringJoin(input_values: string, input_row_splits: RAGGED_RANK*Tsplits) -> output_values: string, output_row_splits: RAGGED_RANK*Tsplits",
		"width: int", "axis: int", "string_separator: string", "Tsplits: {int64} = int64").grows()
	FastWordpieceTokenizeWithOffsets = define("FastWordpieceTokenizeWithOffsets(input_values: string, wp_model: uint8) -> output_subwords: string, output_ids: int64, output_row_splits: int64, start_values: int64, end_values: int64")
	FastBertNormalize                = define("FastBertNormalize(input_values: string, fast_bert_normalizer_model: uint8) -> output_values: string, output_offsets: int64, output_row_splits: int64", "get_offsets: bool = false").grows()

	SentencepieceOp                    = define("SentencepieceOp() -> handle: resource", "model: string = ''", "container: string = ''", "shared_name: string = ''", "use_node_name_sharing: bool = false").state(Handle)
	SentencepieceTokenizeOp            = define("SentencepieceTokenizeOp(sp_handle: resource, input: string, nbest_size: int32, alpha: float32, add_bos: bool, add_eos: bool, reverse: bool) -> output_values: out_type, output_splits: Tsplits", "out_type: {int32, string} = int32", "Tsplits: indices = int64", "return_nbest: bool = false").state(Reads)
	SentencepieceTokenizeWithOffsetsOp = define("SentencepieceTokenizeWithOffsetsOp(sp_handle: resource, input: string, nbest_size: int32, alpha: float32, add_bos: bool, add_eos: bool, reverse: bool) -> output_values: out_type, output_splits: Tsplits, output_offset_starts: int64, output_offset_limits: int64", "out_type: {int32, string} = int32", "Tsplits: indices = int64", "return_nbest: bool = false").state(Reads)
	SentencepieceDetokenizeOp          = define("SentencepieceDetokenizeOp(sp_handle: resource, input_values: T, input_splits: Tsplits, add_bos: bool, add_eos: bool, reverse: bool) -> output: string", "T: {int32, string} = int32", "Tsplits: indices = int64").state(Reads).grows()
	SentencepieceIdToStringOp          = define("SentencepieceIdToStringOp(sp_handle: resource, input: int32) -> values: string").state(Reads)
	SentencepieceStringToIdOp          = define("SentencepieceStringToIdOp(sp_handle: resource, input: string) -> values: int32").state(Reads)
	SentencepieceVocabSizeOp           = define("SentencepieceVocabSizeOp(sp_handle: resource) -> vocab_size: int32").state(Reads)
)
