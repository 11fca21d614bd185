package eager

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"golang.org/x/text/unicode/norm"
)

// textOps are the ops of TensorFlow Text.
var textOps = map[*ops.Def]maker{
	ops.CaseFoldUTF8:                       plain(eachString(foldText)),
	ops.NormalizeUTF8:                      normalizeText,
	ops.RegexSplitWithOffsets:              plain(regexSplit),
	ops.WhitespaceTokenizeWithOffsets:      charTokens,
	ops.UnicodeScriptTokenizeWithOffsets:   charTokens,
	ops.TextWhitespaceTokenizeV2:           plain(whitespaceTokens),
	ops.TextByteSplitWithOffsets:           plain(byteTokens),
	ops.WordpieceTokenizeWithOffsets:       wordpieceTokens,
	ops.FastWordpieceTokenizeWithOffsets:   fastWordpieces,
	ops.FastBertNormalize:                  fastNormalize,
	ops.TextRoundRobinTrim:                 roundRobinTrim,
	ops.TextRoundRobinGenerateMasks:        roundRobinMasks,
	ops.TextNgramsStringJoin:               joinedNgrams,
	ops.SentencepieceOp:                    sentencepieceModel,
	ops.SentencepieceTokenizeOp:            sentencepieceEncode,
	ops.SentencepieceTokenizeWithOffsetsOp: sentencepieceEncode,
	ops.SentencepieceDetokenizeOp:          plain(sentencepieceDecode),
	ops.SentencepieceIdToStringOp:          plain(sentencepieceTexts),
	ops.SentencepieceStringToIdOp:          plain(sentencepieceIDs),
	ops.SentencepieceVocabSizeOp:           plain(sentencepieceSize),
}

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// normalizeText converts texts to a Unicode normal form.
func normalizeText(s *site) (kernel, error) {
	name := strings.ToUpper(s.str("normalization_form", ""))
	form, ok := normalForms[name]
	if !ok {
		return nil, fmt.Errorf("attribute normalization_form: expected NFC, NFD, NFKC or NFKD, got %q", name)
	}
	return eachString(func(text []byte) []byte {
		if form == norm.NFD || form == norm.NFKD { // the others keep invalid bytes
			text = eachLetter(text, func(b []byte, _ int, r rune) []byte { return utf8.AppendRune(b, r) })
		}
		return form.Bytes(text)
	}), nil
}

// foldText converts a text like Unicode's NFKC_Casefold: it removes differences of case and compatibility, and ignorable characters.
func foldText(text []byte) []byte {
	out := make([]byte, 0, len(text))
	plain := true
	for at := 0; at < len(text); {
		if b := text[at]; b < utf8.RuneSelf {
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			out, at = append(out, b), at+1
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			out = append(out, text[at])
		} else {
			out = append(out, foldRune(text[at:at+size])...)
		}
		at, plain = at+size, false
	}
	if plain {
		return out
	}
	return norm.NFC.Bytes(out)
}

// foldRune repeats folding and normalizing until nothing changes, which takes three times at most.
func foldRune(char []byte) []byte {
	for range 4 {
		var folded []byte
		for _, r := range string(norm.NFD.Bytes(char)) {
			if !ignorable(r) {
				folded = appendFolded(folded, r)
			}
		}
		next := norm.NFKC.Bytes(folded)
		if string(next) == string(char) {
			break
		}
		char = next
	}
	return char
}

// appendFolded appends the full case folding of a character.
func appendFolded(b []byte, r rune) []byte {
	switch long := longUpper[r]; {
	case long != "":
		for _, r := range long {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
		return b
	case r == 0x130:
		return append(b, "i\u0307"...)
	case r == 0x131: // its capital letter is I, as for i
		return utf8.AppendRune(b, r)
	case r == 0x1e9e:
		return append(b, "ss"...)
	case unicode.Is(unicode.Cherokee, r): // folds to capital letters
		return utf8.AppendRune(b, unicode.ToUpper(r))
	}
	return utf8.AppendRune(b, unicode.ToLower(unicode.ToUpper(r)))
}

// ignorable reports whether a character has the property Default_Ignorable_Code_Point.
func ignorable(r rune) bool {
	switch {
	case r < 0xad, unicode.IsSpace(r), r >= 0xfff9 && r <= 0xfffb, r >= 0x13430 && r <= 0x1343f, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector)
}
