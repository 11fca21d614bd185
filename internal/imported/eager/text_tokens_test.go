package eager

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// all runs an op and compares all outputs.
func (s session) all(op string, attrs graph.Attrs, in []any, want ...string) {
	s.t.Helper()
	out, err := s.try(op, attrs, in...)
	if err != nil {
		s.t.Fatalf("%s: %v", op, err)
	}
	if len(out) != len(want) {
		s.t.Fatalf("%s: got %d outputs, expected %d", op, len(out), len(want))
	}
	for i, w := range want {
		s.expect(out[i], w)
	}
}

// TestXlaSlices: a slice beyond the tensor's bounds is moved inside.
func TestXlaSlices(t *testing.T) {
	s, x := newSession(t), tensorOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	at, size := tensorOf([]int32{1, 2}, 2), tensorOf([]int32{1, 2}, 2)
	s.expect(s.run("XlaDynamicSlice", nil, x, at, size), "float32[1 2] 5 6")
	s.expect(s.run("XlaDynamicSlice", nil, x, tensorOf([]int32{-3, -1}, 2), size), "float32[1 2] 1 2")
	s.expect(s.run("XlaDynamicUpdateSlice", nil, x, tensorOf([]float32{7, 8}, 1, 2), at), "float32[2 3] 1 2 3 4 7 8")
	s.expect(s.run("XlaDynamicUpdateSlice", nil, x, tensorOf([]float32{}, 0, 3), at), "float32[2 3] 1 2 3 4 5 6")
	s.refuse("expected a slice of 0 to 2", "XlaDynamicSlice", nil, x, at, tensorOf([]int32{3, 1}, 2))
	s.refuse("expected a slice of 0 to 2", "XlaDynamicSlice", nil, x, at, tensorOf([]int32{-1, 1}, 2))
	s.refuse("of 2 elements", "XlaDynamicUpdateSlice", nil, x, tensorOf([]float32{7}, 1), at)
	s.refuse("expected type float32", "XlaDynamicUpdateSlice", nil, x, tensorOf([]int32{7}, 1, 1), at)
}

// TestNormalForms: ICU's texts.
func TestNormalForms(t *testing.T) {
	s := newSession(t)
	x := []string{"Straße ΣΊΣΥΦΟΣ", "ﬃ²① É\u0301", "a\u00adb\ufe0fC", "İı ᾼ Ꭰꭰ", "A\xffB"}
	s.expectTexts(s.run("CaseFoldUTF8", nil, x), "strasse σίσυφοσ", "ffi21 é\u0301", "abc", "i\u0307ı αι ᎠᎠ", "a\xffb")
	form := func(name string) graph.Attrs { return graph.Attrs{"normalization_form": []byte(name)} }
	s.expectTexts(s.run("NormalizeUTF8", form("nfkc"), x[1:2]), "ffi21 É\u0301")
	s.expectTexts(s.run("NormalizeUTF8", form("NFC"), []string{"e\u0301", "a\xff"}), "é", "a\xff")
	s.expectTexts(s.run("NormalizeUTF8", form("NFD"), []string{"é", "a\xffb\xe2\x82"}), "e\u0301", "a\ufffdb\ufffd")
	s.expectTexts(s.run("NormalizeUTF8", form("NFKD"), []string{"ﬁ"}), "fi")
	s.refuse("expected NFC", "NormalizeUTF8", form("NFX"), "a")
}

func (s session) expectTexts(v Value, want ...string) {
	s.t.Helper()
	for i, w := range want {
		if got := string(v.T.Strings[i]); got != w {
			s.t.Errorf("got %q, expected %q", got, w)
		}
	}
}

func TestRegexSplitWithOffsets(t *testing.T) {
	s := newSession(t)
	s.all("RegexSplitWithOffsets", nil, []any{[]string{"a, b!", "", "x\x00y"}, `(\p{P}|\s)`, `\p{P}`},
		`string[5] "a" "," "b" "!" "x"`, "int64[5] 0 1 3 4 0", "int64[5] 1 2 4 5 1", "int64[4] 0 4 4 5")
	s.all("RegexSplitWithOffsets", nil, []any{[]string{"a  b"}, `(\s+)`, ""}, `string[2] "a" "b"`, "int64[2] 0 3", "int64[2] 1 4", "int64[2] 0 2")
	s.refuse("does not match nothing", "RegexSplitWithOffsets", nil, []string{"ab"}, `(x*)`, "")
	s.refuse("expected a group", "RegexSplitWithOffsets", nil, []string{"ab"}, `a`, "")
	s.refuse("Invalid pattern", "RegexSplitWithOffsets", nil, []string{"ab"}, `(`, "")
}

// TestCharacterTokens: in " 1 2ab мир", white space and changes of script end tokens; digits and spaces have the same script.
func TestCharacterTokens(t *testing.T) {
	s, chars := newSession(t), []int32{}
	for _, r := range " 1 2ab мир" {
		chars = append(chars, r)
	}
	x, rows := tensorOf(chars, len(chars)), []int64{0, int64(len(chars)), int64(len(chars))}
	s.all("WhitespaceTokenizeWithOffsets", nil, []any{x, rows}, "int32[7] 49 50 97 98 1084 1080 1088", "int64[4] 0 1 4 7", "int64[3] 1 3 7", "int64[3] 2 6 10", "int64[3] 0 3 3")
	s.all("UnicodeScriptTokenizeWithOffsets", nil, []any{x, rows}, "int32[7] 49 50 97 98 1084 1080 1088", "int64[4] 0 2 4 7", "int64[3] 1 4 7", "int64[3] 4 6 10", "int64[3] 0 3 3")
	out, err := s.try("UnicodeScriptTokenizeWithOffsets", graph.Attrs{"keep_whitespace": true}, x, rows)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[2], "int64[7] 0 1 2 3 4 6 7")
	s.refuse("ascending", "WhitespaceTokenizeWithOffsets", nil, x, []int64{0, 3, 2})
	s.refuse("ascending", "WhitespaceTokenizeWithOffsets", nil, x, []int64{0, 300})

	space := make([]byte, 5)
	space[4] = 1 // U+0020
	s.all("TFText>WhitespaceTokenizeWithOffsetsV2", nil, []any{[]string{" a  bé", ""}, string(space)}, `string[2] "a" "bé"`, "int64[3] 0 2 2", "int32[2] 1 4", "int32[2] 2 7")
}

func TestByteSplitWithOffsets(t *testing.T) {
	s := newSession(t)
	s.all("TFText>ByteSplitWithOffsets", nil, []any{[]string{"ab", "", "é"}}, "uint8[4] 97 98 195 169", "int64[4] 0 2 2 4", "int32[4] 0 1 0 1", "int32[4] 1 2 1 2")
	s.all("TFText>ByteSplitWithOffsets", nil, []any{[]string{}}, "uint8[0]", "int64[1] 0", "int32[0]", "int32[0]")
}

func TestWordpieceTokenize(t *testing.T) {
	s := newSession(t)
	words := s.table("HashTableV2", tensor.String, tensor.Int64)
	attrs := graph.Attrs{"suffix_indicator": []byte("##"), "max_bytes_per_word": int64(8), "use_unknown_token": true, "unknown_token": []byte("[UNK]")}
	in := []any{[]string{"unable", "abc", "", "longerthan8"}, words}
	if _, err := s.try("WordpieceTokenizeWithOffsets", attrs, in...); err == nil || !strings.Contains(err.Error(), "not initialized") {
		t.Errorf("got %v, expected a table that is not initialized", err)
	}
	s.run("InitializeTableV2", nil, words, []string{"un", "##able", "a", "##b", "gone"}, []int64{1, 2, 3, 4, -1})
	s.all("WordpieceTokenizeWithOffsets", attrs, in, `string[4] "un" "##able" "[UNK]" "[UNK]"`, "int64[4] 2 1 0 1", "int64[4] 0 2 0 0", "int64[4] 2 6 3 5")
	attrs["split_unknown_characters"], attrs["output_row_partition_type"] = true, []byte("row_splits")
	s.all("WordpieceTokenizeWithOffsets", attrs, []any{[]string{"abc", "gone"}, words}, `string[7] "a" "##b" "##[UNK]" "[UNK]" "##[UNK]" "##[UNK]" "##[UNK]"`, "int64[3] 0 3 7", "int64[7] 0 1 2 0 1 2 3", "int64[7] 1 2 3 1 2 3 4")
	attrs = graph.Attrs{"suffix_indicator": []byte("##"), "max_bytes_per_word": int64(8), "max_chars_per_token": int64(1)}
	s.all("WordpieceTokenizeWithOffsets", attrs, []any{[]string{"ab", "unable"}, words}, `string[3] "a" "##b" "unable"`, "int64[2] 2 1", "int64[3] 0 1 0", "int64[3] 1 2 6")
	s.refuse("expected a table", "WordpieceTokenizeWithOffsets", attrs, []string{"a"}, "no table")
}

// TestRoundRobin: segments with rows of 3 and 4, and of 1 and 5, share a length of 5.
func TestRoundRobin(t *testing.T) {
	s, attrs := newSession(t), graph.Attrs{"N": int64(2), "T": tensor.Int32, "Tsplits": tensor.Int64}
	in := []any{int32(5), tensorOf([]int32{1, 2, 3, 4}, 4), tensorOf([]int32{5, 6, 7, 8, 9, 10, 11, 12, 13}, 9), []int64{0, 3, 4}, []int64{0, 4, 9}}
	s.all("TFText>RoundRobinTrim", attrs, in, "int32[4] 1 2 3 4", "int32[6] 5 6 9 10 11 12", "int64[3] 0 3 4", "int64[3] 0 2 6")
	s.all("TFText>RoundRobinGenerateMasks", attrs, in, "bool[4] 1 1 1 1", "bool[9] 1 1 0 0 1 1 1 1 0")
	in[0] = int32(0)
	s.all("TFText>RoundRobinTrim", attrs, in, "int32[0]", "int32[0]", "int64[3] 0 0 0", "int64[3] 0 0 0")
	in[3] = []int64{0, 3, 40}
	s.refuse("ascending splits", "TFText>RoundRobinTrim", attrs, in...)
	in[3] = []int64{0, 4}
	s.refuse("as many", "TFText>RoundRobinTrim", attrs, in...)
}

func TestJoinedNgrams(t *testing.T) {
	s, attrs := newSession(t), graph.Attrs{"width": int64(2), "axis": int64(-1), "string_separator": []byte("-"), "RAGGED_RANK": int64(1)}
	s.all("TFText>NgramsStringJoin", attrs, []any{[]string{"a", "b", "c", "d"}, []int64{0, 3, 4}}, `string[2] "a-b" "b-c"`, "int64[3] 0 2 2")
	attrs["RAGGED_RANK"] = int64(0)
	s.all("TFText>NgramsStringJoin", attrs, []any{[]string{"a", "b", "c"}}, `string[2] "a-b" "b-c"`)
	s.all("TFText>NgramsStringJoin", attrs, []any{[]string{"a"}}, `string[0]`)
	attrs["axis"] = int64(0)
	s.refuse("axis -1", "TFText>NgramsStringJoin", attrs, []string{"a"})
}

func TestSentencepieces(t *testing.T) {
	s := newSession(t)
	piece := func(text string, kind byte) []byte {
		return append([]byte{10, byte(len(text) + 4), 10, byte(len(text))}, append([]byte(text), 24, kind)...)
	}
	model := append(piece("<unk>", 2), append(piece("▁hi", 1), append(piece("!", 1), piece("</s>", 3)...)...)...)
	m := s.run("SentencepieceOp", graph.Attrs{"model": model})
	no, yes := tensor.Scalar(false), tensor.Scalar(true)
	s.all("SentencepieceTokenizeOp", nil, []any{m, []string{"hi!", ""}, int32(0), float32(1), no, yes, no}, "int32[4] 1 2 3 3", "int64[3] 0 3 4")
	s.all("SentencepieceTokenizeWithOffsetsOp", graph.Attrs{"out_type": tensor.String}, []any{m, []string{"hi!"}, int32(1), float32(1), no, no, yes}, `string[2] "!" "▁hi"`, "int64[2] 0 2", "int64[2] 2 0", "int64[2] 3 2")
	s.all("SentencepieceDetokenizeOp", nil, []any{m, tensorOf([]int32{1, 2, 1}, 3), []int64{0, 2, 3}, no, no, no}, `string[2] "hi!" "hi"`)
	s.expect(s.run("SentencepieceIdToStringOp", nil, m, tensorOf([]int32{2, 0}, 2)), `string[2] "!" "<unk>"`)
	s.expect(s.run("SentencepieceStringToIdOp", nil, m, []string{"!", "no"}), "int32[2] 2 0")
	s.expect(s.run("SentencepieceVocabSizeOp", nil, m), "int32[] 4")
	s.refuse("not supported", "SentencepieceTokenizeOp", nil, m, []string{"hi"}, int32(-1), float32(1), no, no, no)
	s.refuse("Invalid id: 9", "SentencepieceDetokenizeOp", nil, m, tensorOf([]int32{9}, 1), []int64{0, 1}, no, no, no)
	s.refuse("ascending", "SentencepieceDetokenizeOp", nil, m, tensorOf([]int32{1}, 1), []int64{0, 3}, no, no, no)
	s.refuse("unk is not defined", "SentencepieceOp", graph.Attrs{"model": piece("a", 1), "shared_name": []byte("bad")})
}

// TestFastTokensOfDamage: damaged models are refused.
func TestFastTokensOfDamage(t *testing.T) {
	s, none := newSession(t), tensorOf([]uint8{1, 2, 3}, 3)
	s.refuse("damaged", "FastWordpieceTokenizeWithOffsets", nil, []string{"a"}, none)
	s.refuse("damaged", "FastBertNormalize", nil, []string{"a"}, none)
	s.refuse("expected type uint8", "FastBertNormalize", nil, []string{"a"}, tensorOf([]int32{1}, 1))
}
