package feature

import (
	"slices"
	"testing"
)

// TestNextWord: the words are those that Keras' TextVectorization has by default.
func TestNextWord(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		" \t\n\v\f\r ":              nil,
		"!\"#$%&()*+,-./:;<=>?@[]'": nil,
		"\\^_`{|}~":                 nil,
		"Hello, World! hello":       {"hello", "world", "hello"},
		"don't stop-me":             {"dont", "stopme"},
		"É 7.5 x\x00y":              {"É", "75", "x\x00y"},
		"a\u00a0b":                  {"a\u00a0b"},
		"\xff\xfeA":                 {"\xff\xfea"},
	} {
		var got []string
		for rest := []byte(text); len(rest) > 0; {
			var word []byte
			if word, rest = nextWord(nil, rest); len(word) > 0 {
				got = append(got, string(word))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, expected %q", text, got, want)
		}
	}
}
