package feature

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// TextVectorization is Keras' layer: it turns the words of texts into ids or vectors.
//
// It standardizes a text, splits it into tokens, and joins these to n-grams. In mode int a row is a list of token ids,
// with exactly Length ids if that is set: 0 is padding, 1 a token outside the vocabulary, and the
// entries follow. In the modes multi_hot, count and tf_idf a row is a vector, whose element 0 is for tokens outside the vocabulary.
type TextVectorization struct {
	Standardize Standardize
	Split       Split
	NGrams      []int // lengths of n-grams, joined by spaces; nil: the tokens
	Vocabulary  []string
	IDF         []float64 // for tf_idf, one for each entry of the vocabulary
	Mode        OutputMode
	Length      int // of the lists in mode int; 0: one id per token
}

// TFIDF delivers how often each token occurs, times its inverse document frequency. It is a mode of TextVectorization only.
const TFIDF OutputMode = "tf_idf"

// Standardize says how to change texts before they are split.
type Standardize string

// The ways to standardize texts; only ASCII changes. "" means LowerAndStripPunctuation.
const (
	LowerAndStripPunctuation Standardize = "lower_and_strip_punctuation"
	Lower                    Standardize = "lower"
	StripPunctuation         Standardize = "strip_punctuation"
	KeepText                 Standardize = "none"
)

// Split says how to split a text into tokens.
type Split string

// The ways to split texts. "" means Whitespace.
const (
	Whitespace Split = "whitespace" // words between ASCII white space
	Character  Split = "character"  // UTF-8 characters
	WholeText  Split = "none"       // the whole text is one token
)

// String is like TextVectorization(lower, whitespace, ngrams=[1 2], 3 entries, int).
func (l *TextVectorization) String() string {
	s := fmt.Sprintf("TextVectorization(%s, %s", l.standardize(), l.split())
	if len(l.NGrams) > 0 {
		s += fmt.Sprintf(", ngrams=%v", l.NGrams)
	}
	if l.Length > 0 {
		s += fmt.Sprintf(", length=%d", l.Length)
	}
	return s + fmt.Sprintf(", %d entries %016x, %s)", len(l.Vocabulary), Fingerprint64(fmt.Appendf(nil, "%q %v", l.Vocabulary, l.IDF)), modeOr(l.Mode))
}

func (l *TextVectorization) standardize() Standardize {
	if l.Standardize == "" {
		return LowerAndStripPunctuation
	}
	return l.Standardize
}

func (l *TextVectorization) split() Split {
	if l.Split == "" {
		return Whitespace
	}
	return l.Split
}

// checkTokens reports settings that allow no tokens.
func (l *TextVectorization) checkTokens() error {
	if !slices.Contains([]Standardize{LowerAndStripPunctuation, Lower, StripPunctuation, KeepText}, l.standardize()) {
		return fmt.Errorf("standardize must be lower_and_strip_punctuation, lower, strip_punctuation or none, got %q", l.Standardize)
	}
	if !slices.Contains([]Split{Whitespace, Character, WholeText}, l.split()) {
		return fmt.Errorf("split must be whitespace, character or none, got %q", l.Split)
	}
	for _, n := range l.NGrams {
		if n < 1 {
			return fmt.Errorf("n-grams must have a length of at least 1, got %d", n)
		}
	}
	return nil
}

func (l *TextVectorization) output(c inputs.Column) (inputs.Column, error) {
	switch err := l.checkTokens(); {
	case err != nil:
		return c, err
	case c.DType != tensor.String || c.Ragged || c.Size() != 1:
		return c, fmt.Errorf("expected one text an example, got %s", c)
	case len(l.Vocabulary) == 0:
		return c, fmt.Errorf("no vocabulary: give one, or adapt the layer")
	case slices.Contains(l.Vocabulary, ""):
		return c, fmt.Errorf("an entry of the vocabulary is empty, which fills up lists: remove it")
	case l.Length < 0 || l.Length > 0 && modeOr(l.Mode) != Int:
		return c, fmt.Errorf("length must be at least 0, and is of the mode int alone, got %d", l.Length)
	}
	if _, err := indexOf(l.Vocabulary); err != nil {
		return c, err
	}
	switch l.Mode {
	case "", Int:
		c.DType, c.Ragged, c.Shape = tensor.Int64, l.Length == 0, nil
		if l.Length > 0 {
			c.Shape = []int{l.Length}
		}
		return c, nil
	case TFIDF:
		if len(l.IDF) != len(l.Vocabulary) {
			return c, fmt.Errorf("%d inverse document frequencies of %d entries: give as many, or adapt the layer", len(l.IDF), len(l.Vocabulary))
		}
	case MultiHot, Count:
	default:
		return c, fmt.Errorf("output mode must be int, multi_hot, count or tf_idf, got %q", l.Mode)
	}
	c.DType, c.Shape = tensor.Float32, []int{len(l.Vocabulary) + 1}
	return c, nil
}

func (l *TextVectorization) call(c *cells, _ func(int, error) error) (result, error) {
	t, err := c.texts()
	if err != nil {
		return result{}, err
	}
	index, err := indexOf(l.Vocabulary)
	if err != nil {
		return result{}, err
	}
	if modeOr(l.Mode) == Int {
		return l.ids(t, c.count, index), nil
	}
	width := len(l.Vocabulary) + 1
	out := make([]float32, c.count*width)
	for row := range c.count {
		counts := out[row*width : (row+1)*width]
		for _, token := range l.tokens(string(t.value(row))) {
			if token == "" {
				continue
			}
			at := 0
			if id, known := index[token]; known {
				at = int(id) + 1
			}
			if counts[at]++; l.Mode == MultiHot {
				counts[at] = 1
			}
		}
		if l.Mode == TFIDF {
			l.weigh(counts)
		}
	}
	return result{floats: out}, nil
}

// ids returns the ids of each text's tokens.
func (l *TextVectorization) ids(t texts, rows int, index map[string]int64) result {
	var out []int64
	offsets := make([]int32, rows+1)
	for row := range rows {
		from := len(out)
		for _, token := range l.tokens(string(t.value(row))) {
			switch id, known := index[token]; {
			case token == "":
				out = append(out, 0)
			case known:
				out = append(out, id+2)
			default:
				out = append(out, 1)
			}
		}
		if l.Length > 0 {
			out = out[:min(len(out), from+l.Length)]
			out = append(out, make([]int64, from+l.Length-len(out))...)
		}
		offsets[row+1] = int32(len(out))
	}
	return result{ints: out, offsets: offsets}
}

// weigh multiplies counts by inverse document frequencies; tokens outside the vocabulary get the mean one.
func (l *TextVectorization) weigh(counts []float32) {
	mean := 0.0
	for i, w := range l.IDF {
		mean += w / float64(len(l.IDF))
		counts[i+1] *= float32(w)
	}
	counts[0] *= float32(mean)
}

// tokens returns the tokens of a text; n-grams come in the order of the lengths in NGrams.
func (l *TextVectorization) tokens(text string) []string {
	words := l.words(l.clean(text))
	if len(l.NGrams) == 0 {
		return words
	}
	var out []string
	for _, n := range l.NGrams {
		for i := 0; i+n <= len(words); i++ {
			out = append(out, strings.Join(words[i:i+n], " "))
		}
	}
	return out
}

// clean standardizes a text.
func (l *TextVectorization) clean(text string) string {
	how := l.standardize()
	if how == KeepText {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		b := text[i]
		if how != StripPunctuation && b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if how == Lower || !isPunctuation(b) {
			out = append(out, b)
		}
	}
	return string(out)
}

// words splits a text.
func (l *TextVectorization) words(text string) []string {
	switch l.split() {
	case WholeText:
		return []string{text}
	case Character:
		out := make([]string, 0, len(text))
		for len(text) > 0 {
			_, n := utf8.DecodeRuneInString(text)
			out, text = append(out, text[:n]), text[n:]
		}
		return out
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' })
}

// isPunctuation reports whether a byte is ASCII punctuation.
func isPunctuation(b byte) bool {
	return b >= '!' && b <= '/' || b >= ':' && b <= '@' || b >= '[' && b <= '`' || b >= '{' && b <= '~'
}

// Adapt sets the vocabulary to the tokens of a column of texts of a finite data set, the most frequent first, and for
// tf_idf also their inverse document frequencies, as Keras does. maxTokens limits all ids together, including the ids for padding
// and for other tokens; 0: no limit.
func (l *TextVectorization) Adapt(ctx context.Context, ds inputs.Dataset, column string, maxTokens int) error {
	if err := l.checkTokens(); err != nil {
		return fmt.Errorf("adapt: %w", err)
	}
	counts, documents, rows := map[string]int{}, map[string]int{}, 0
	err := eachCells(ctx, ds, column, func(c *cells) error {
		t, err := c.texts()
		for i := 0; err == nil && i < c.count; i++ {
			rows++
			seen := map[string]bool{}
			for _, token := range l.tokens(string(t.value(i))) {
				if token == "" || token == "[UNK]" {
					continue
				}
				counts[token]++
				if !seen[token] {
					seen[token] = true
					documents[token]++
				}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	before := 1
	if modeOr(l.Mode) == Int {
		before = 2
	}
	if l.Vocabulary, err = mostFrequent(counts, maxTokens, before, strings.Compare); err != nil {
		return err
	}
	l.IDF = nil
	for _, token := range l.Vocabulary {
		if l.Mode == TFIDF {
			l.IDF = append(l.IDF, math.Log(1+float64(rows)/float64(1+documents[token])))
		}
	}
	return nil
}
