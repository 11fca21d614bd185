package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Words are the words of texts. The id of a word is its position in Values; other words follow, by the fingerprint of their bytes modulo Size. By default, like Keras' layer
// TextVectorization, it converts ASCII letters to lower case, drops ASCII punctuation and splits at white space. With Marks
// each punctuation mark is a word of its own, and splits others. With NGrams, runs of words have ids as well. A text without words has no id;
// a word that occurs twice has its id twice.
type Words struct {
	Key    string
	Marks  bool     // punctuation marks are words
	NGrams int      // longest run of words, joined by spaces; 0: 1, the words
	Values []string // vocabulary; empty: none
	Size   int      // number of buckets for words outside of Values; 0: they are left out

	entries table
}

// Name is the key with the suffix _words.
func (c *Words) Name() string { return c.Key + "_words" }

// String is like words(message, 4096); a vocabulary is shown by its size and fingerprint.
func (c *Words) String() string {
	key := c.Key
	if c.Marks {
		key += " with marks"
	}
	if c.NGrams > 1 {
		key += fmt.Sprintf(" to %d-grams", c.NGrams)
	}
	if len(c.Values) == 0 {
		return fmt.Sprintf("words(%s, %d)", key, c.Size)
	}
	return fmt.Sprintf("words(%s, %d entries, %016x, %d)", key, len(c.Values), Fingerprint64(fmt.Appendf(nil, "%q", c.Values)), c.Size)
}

// Buckets is the number of entries plus the number of buckets.
func (c *Words) Buckets() int { return len(c.Values) + c.Size }

// Entries returns the vocabulary in the order of the ids; nil if there is none.
func (c *Words) Entries() *tensor.Tensor {
	if len(c.Values) == 0 {
		return nil
	}
	return c.entries.tensor()
}

func (c *Words) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if c.NGrams < 0 || c.NGrams > longestGram {
		return fmt.Errorf("ngrams: expected 1 to %d, or 0 for 1, got %d", longestGram, c.NGrams)
	}
	if len(c.Values) == 0 {
		return positive("the number of buckets", c.Size)
	}
	c.entries.once.Do(func() { c.entries.err = c.entries.fill(c.Values, nil) })
	if c.entries.err != nil {
		return c.entries.err
	}
	return checkOOV(nil, c.Size, len(c.Values))
}

// id returns the id of a word, -1 if it is left out.
func (c *Words) id(word []byte) int64 {
	if id, ok := c.entries.strings[string(word)]; ok {
		return id
	}
	if c.Size == 0 {
		return -1
	}
	return int64(len(c.Values)) + int64(Fingerprint64(word)%uint64(c.Size))
}

func (c *Words) parents() []Column { return nil }
func (c *Words) reads() []read     { return categoryRead(c.Key, 0) }

func (c *Words) ids(b *batch) (*idList, error) {
	return b.ids(c, "", func(l *idList) (*idList, error) {
		t, err := b.tokens(c.Key, false)
		if err != nil {
			return nil, err
		}
		x, err := t.texts()
		if err != nil {
			return nil, err
		}
		rows := len(t.offsets) - 1
		*l = idList{values: l.values[:0], offsets: sized(l.offsets[:0:0], rows+1)}
		words := wordReader{marks: c.Marks, most: c.NGrams}
		for row := range rows {
			l.offsets[row] = int32(len(l.values))
			for i := t.offsets[row]; i < t.offsets[row+1]; i++ {
				words.each(x.value(t.value(int(i))), func(word []byte) { l.values = append(l.values, c.id(word)) })
			}
		}
		l.offsets[rows] = int32(len(l.values))
		return l, nil
	})
}

// longestGram bounds NGrams.
const longestGram = 8

// wordReader reads the words of texts, and runs of words.
type wordReader struct {
	marks bool
	most  int // most words in a run; 0: 1

	word, text   []byte // the current word; all words so far, with spaces between them
	begins, ends []int  // of each word in text
}

// each calls do with the words of a text, in order, then with the runs of two words, and so on, like TextVectorization.
func (r *wordReader) each(text []byte, do func(word []byte)) {
	r.text, r.begins, r.ends = r.text[:0], r.begins[:0], r.ends[:0]
	for len(text) > 0 {
		if r.word, text = nextWord(r.word[:0], text, r.marks); len(r.word) == 0 {
			continue
		}
		do(r.word)
		if r.most > 1 {
			r.begins = append(r.begins, len(r.text))
			r.text = append(r.text, r.word...)
			r.ends = append(r.ends, len(r.text))
			r.text = append(r.text, ' ')
		}
	}
	for n := 2; n <= min(r.most, len(r.ends)); n++ {
		for i, end := range r.ends[n-1:] {
			do(r.text[r.begins[i]:end])
		}
	}
}

// punctuationWords is the Punctuation of a column in which marks are words.
const punctuationWords = "words"

// nextWord appends the first word of a text to word, and returns the rest of the text. The word may be empty. With marks, each
// punctuation mark is a word.
func nextWord(word, text []byte, marks bool) (_, rest []byte) {
	for i, b := range text {
		switch {
		case b == ' ' || b >= '\t' && b <= '\r':
			return word, text[i+1:]
		case b >= 'A' && b <= 'Z':
			word = append(word, b+'a'-'A')
		case isPunctuation(b) && marks && len(word) > 0:
			return word, text[i:]
		case isPunctuation(b) && marks:
			return append(word, b), text[i+1:]
		case isPunctuation(b):
		default:
			word = append(word, b)
		}
	}
	return word, nil
}
