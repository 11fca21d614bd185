package feature

import (
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// TestNextWord: the words are the same as in Keras' TextVectorization by default.
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

// TestMarks: punctuation marks are words and split others.
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

// TestAdaptedWords: the vocabulary has the words of the training data, the most frequent first.
func TestAdaptedWords(t *testing.T) {
	s := statistics{}
	spec := Spec{Type: "words", Key: "text", Adapt: true, Size: 2, OOVBuckets: 1}
	s.want(spec, "text", Reading{})
	for _, text := range []string{"Free prize, free!", "call the prize", "", "\xff free"} {
		s.values("text", spec.counted()).addWords([]byte(text))
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

// TestGrams: runs of words are the layer's, in its order, and are adapted and hashed like words.
func TestGrams(t *testing.T) {
	texts := []string{"", "one", "The cat, the CAT sat!", " a  b\tc d ", "!", "x \xff y"}
	for n := range 5 {
		layer := TextVectorization{}
		for k := range max(n, 1) {
			layer.NGrams = append(layer.NGrams, k+1)
		}
		words := wordReader{most: n}
		for _, text := range texts {
			var got []string
			words.each([]byte(text), func(word []byte) { got = append(got, string(word)) })
			if want := layer.tokens(text); !slices.Equal(got, want) {
				t.Errorf("%d words of %q: got %q, expected %q", n, text, got, want)
			}
		}
	}
	s := statistics{}
	pairs, plain := Spec{Type: "words", Key: "text", NGrams: 2, Adapt: true, Size: 2, OOVBuckets: 1}, Spec{Type: "words", Key: "text", Adapt: true, Size: 2}
	for _, x := range []Spec{pairs, plain} {
		s.want(x, "text", Reading{})
		for range 3 {
			s.values("text", x.counted()).addWords([]byte("not good, not good"))
		}
	}
	for x, want := range map[*Spec][]string{&pairs: {"good", "not"}, &plain: {"good", "not"}} {
		c := AdaptedColumn{Declared: *x, Filled: *x}
		if err := s.fill(&c, nil); err != nil || !slices.Equal(slices.Sorted(slices.Values(c.Filled.Vocabulary)), want) {
			t.Errorf("%d: got %q, %v", x.NGrams, c.Filled.Vocabulary, err)
		}
	}
	pairs.Size = 0
	c := AdaptedColumn{Declared: pairs, Filled: pairs}
	if err := s.fill(&c, nil); err != nil || !slices.Contains(c.Filled.Vocabulary, "not good") || !slices.Contains(c.Filled.Vocabulary, "good not") {
		t.Fatalf("got %q, %v", c.Filled.Vocabulary, err)
	}
	set, err := Build([]Spec{c.Filled, {Type: "words", Key: "text", Name: "hashed", NGrams: 3, Buckets: 9}})
	if err != nil {
		t.Fatal(err)
	}
	columns, _ := set.Columns("text_words")
	w := columns[0].(*Words)
	if err := w.check(); err != nil || w.NGrams != 2 || w.id([]byte("not good")) < 0 || w.id([]byte("not good")) >= 4 || w.id([]byte("good day")) != 4 {
		t.Errorf("%v: ids %d and %d, %v", w, w.id([]byte("not good")), w.id([]byte("good day")), err)
	}
	if err := (&Words{Key: "text", NGrams: 9, Size: 1}).check(); err == nil {
		t.Error("runs of nine words are taken")
	}
	if _, err := Build([]Spec{{Type: "hash_bucket", Key: "text", NGrams: 2, Buckets: 9}}); err == nil {
		t.Error("ngrams of a column without words are taken")
	}
}

// denseOf returns the numbers that a column makes of texts.
func denseOf(t *testing.T, c Column, texts ...string) []float32 {
	t.Helper()
	plan, err := New(Columns{Dense: []Column{c}})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	b.AppendStringValues(texts, nil)
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.Binary}}, nil), []arrow.Array{b.NewArray()}, int64(len(texts)))
	out, err := plan.Apply(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inputs.SchemaFromArrow(out.Schema())
	if err != nil {
		t.Fatal(err)
	}
	made, err := inputs.Tensors(out, s)
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Values[float32](made[0].Tensor)
}

// TestMultiHot: an id that occurs twice gives 1, as in the layer.
func TestMultiHot(t *testing.T) {
	set, err := Build([]Spec{{Type: "words", Key: "text", Vocabulary: []string{"a", "b", "c"}, OOVBuckets: 1}, {Type: "indicator", Of: "text_words", Name: "there", Mode: "multi_hot"}, {Type: "indicator", Of: "text_words", Name: "counts", Mode: "count"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{"there": {1, 0, 1, 1, 0, 0, 0, 0}, "counts": {2, 0, 1, 2, 0, 0, 0, 0}} {
		columns, err := set.Columns(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := denseOf(t, columns[0], "a c A x y", ""); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, expected %v", name, got, want)
		}
	}
	for _, specs := range [][]Spec{
		{{Type: "indicator", Of: "sex", Mode: "tf_idf"}},
		{{Type: "weighted", Of: "sex", WeightKey: "w", Name: "heavy"}, {Type: "indicator", Of: "heavy", Mode: "multi_hot"}},
	} {
		set, err := Build(append([]Spec{{Type: "hash_bucket", Key: "sex", Name: "sex", Buckets: 3}}, specs...))
		if err == nil {
			columns, _ := set.Columns(set.Names()[len(set.Names())-1])
			_, err = New(Columns{Dense: columns})
		}
		if err == nil {
			t.Errorf("%v is taken", specs)
		}
	}
}
