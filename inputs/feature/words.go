package feature

import "fmt"

// Words are the words of texts, each the fingerprint of its bytes modulo Size. As the Keras layer TextVectorization does
// where nothing else is asked of it, it makes ASCII letters small, leaves out ASCII punctuation and divides at white space. A text
// without words has no id; a word that occurs twice has its id twice.
type Words struct {
	Key  string
	Size int // number of buckets
}

// Name is the key and _words.
func (c *Words) Name() string { return c.Key + "_words" }

// String is like words(message, 4096).
func (c *Words) String() string { return fmt.Sprintf("words(%s, %d)", c.Key, c.Size) }

// Buckets is Size.
func (c *Words) Buckets() int { return c.Size }

func (c *Words) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	return positive("the number of buckets", c.Size)
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
		var word []byte
		for row := range rows {
			l.offsets[row] = int32(len(l.values))
			for i := t.offsets[row]; i < t.offsets[row+1]; i++ {
				text := x.value(t.value(int(i)))
				for len(text) > 0 {
					if word, text = nextWord(word[:0], text); len(word) > 0 {
						l.values = append(l.values, int64(Fingerprint64(word)%uint64(c.Size)))
					}
				}
			}
		}
		l.offsets[rows] = int32(len(l.values))
		return l, nil
	})
}

// nextWord appends the first word of a text to word, and returns what is behind it. The word may be empty.
func nextWord(word, text []byte) (_, rest []byte) {
	for i, b := range text {
		switch {
		case b == ' ' || b >= '\t' && b <= '\r':
			return word, text[i+1:]
		case b >= 'A' && b <= 'Z':
			word = append(word, b+'a'-'A')
		case isPunctuation(b):
		default:
			word = append(word, b)
		}
	}
	return word, nil
}
