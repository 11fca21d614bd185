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
			if word, rest = nextWord(nil, rest, false); len(word) > 0 {
				got = append(got, string(word))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, expected %q", text, got, want)
		}
	}
}

// TestMarks: punctuation marks are words that divide others.
func TestMarks(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   nil,
		"?!":                 {"?", "!"},
		"Don't stop-me.":     {"don", "'", "t", "stop", "-", "me", "."},
		"https://t.co/aB  #": {"https", ":", "/", "/", "t", ".", "co", "/", "ab", "#"},
	} {
		var got []string
		for rest := []byte(text); len(rest) > 0; {
			var word []byte
			if word, rest = nextWord(nil, rest, true); len(word) > 0 {
				got = append(got, string(word))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, expected %q", text, got, want)
		}
	}
	s := statistics{}
	spec := Spec{Type: "words", Key: "text", Punctuation: "words", Adapt: true, Size: 1}
	plain := Spec{Type: "words", Key: "text", Adapt: true, Size: 1}
	for _, x := range []Spec{spec, plain} {
		s.want(x, "text", Reading{})
		s.values("text", x.counted()).addWords([]byte("a! b! b c!"))
	}
	for x, want := range map[*Spec]string{&spec: "!", &plain: "b"} {
		c := AdaptedColumn{Declared: *x, Filled: *x}
		if err := s.fill(&c, nil); err != nil || !slices.Equal(c.Filled.Vocabulary, []string{want}) {
			t.Errorf("punctuation %q: got %q, %v", x.Punctuation, c.Filled.Vocabulary, err)
		}
	}
	spec.Punctuation = "keep"
	if _, err := Build([]Spec{spec}); err == nil {
		t.Error("another value of punctuation is taken")
	}
}

// TestAdaptedWords: the vocabulary is that of the words of the training data, the most frequent first.
func TestAdaptedWords(t *testing.T) {
	s := statistics{}
	spec := Spec{Type: "words", Key: "text", Adapt: true, Size: 2, OOVBuckets: 1}
	s.want(spec, "text", Reading{})
	for _, text := range []string{"Free prize, free!", "call the prize", "", "\xff free"} {
		s.values("text", wordsOfTexts).addWords([]byte(text))
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
