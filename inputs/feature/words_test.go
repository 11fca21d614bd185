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

// TestAdaptedWords: the vocabulary is that of the words of the training data, the most frequent first.
func TestAdaptedWords(t *testing.T) {
	s := statistics{}
	spec := Spec{Type: "words", Key: "text", Adapt: true, Size: 2, OOVBuckets: 1}
	s.want(spec, "text", Reading{})
	for _, text := range []string{"Free prize, free!", "call the prize", "", "\xff free"} {
		s.values("text", true).addWords([]byte(text))
	}
	c := AdaptedColumn{Declared: spec, Filled: spec}
	if err := s.fill(&c, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"free", "prize"}; !slices.Equal(c.Filled.Vocabulary, want) || c.Missing != 1 || c.Filled.Adapt {
		t.Errorf("got %q of %d missing texts, expected %q of 1", c.Filled.Vocabulary, c.Missing, want)
	}
	set, err := Build([]Spec{c.Filled})
	if err != nil {
		t.Fatal(err)
	}
	columns, _ := set.Columns("text_words")
	w := columns[0].(*Words)
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
	if w.Buckets() != 3 || w.id([]byte("prize")) != 1 || w.id([]byte("call")) != 2 {
		t.Errorf("%d ids, prize %d, call %d: expected 3, 1 and 2", w.Buckets(), w.id([]byte("prize")), w.id([]byte("call")))
	}
	if _, err := Build([]Spec{{Type: "words", Key: "text", Buckets: 5, OOVBuckets: 1}}); err == nil {
		t.Error("buckets beside oov_buckets are taken")
	}
}
