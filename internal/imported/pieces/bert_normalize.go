package pieces

import "unicode/utf8"

// BertNormalizer is a FastBertNormalizer model. It never changes.
type BertNormalizer struct {
	trie doubleArray
	zero int    // the trie's value for U+0000
	pool []byte // normalized characters
}

// NewBertNormalizer parses a model. It keeps the bytes.
func NewBertNormalizer(model []byte) (*BertNormalizer, error) {
	f := newFlat(model)
	n := &BertNormalizer{trie: f.vector(1, 4), zero: f.integer(2), pool: f.vector(3, 1)}
	if len(n.trie) == 0 && f.err == nil {
		f.err = errFlat
	}
	return n, f.err
}

// Apply normalizes text. from has, for each byte of out and for the end, the index in text that it comes from.
func (n *BertNormalizer) Apply(text string, room Room) (out []byte, from []int, err error) {
	if err := room.take(9 * len(text)); err != nil {
		return nil, nil, err
	}
	out, from = make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for at := 0; at < len(text); {
		size := characterBytes(text[at:])
		if to, ok := n.lookup(text[at : at+size]); ok {
			if err := room.take(9 * len(to)); err != nil {
				return nil, nil, err
			}
			for range to {
				from = append(from, at)
			}
			out = append(out, to...)
		} else {
			for i := range size {
				from = append(from, at+i)
			}
			out = append(out, text[at:at+size]...)
		}
		at += size
	}
	return out, append(from, len(text)), nil
}

// characterBytes returns the length of the character that s begins with, or 1 if there is none.
func characterBytes(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// lookup returns the replacement of a character, or false if it stays.
func (n *BertNormalizer) lookup(char string) (string, bool) {
	data := n.zero
	if char[0] != 0 {
		at, ok := n.trie.follow(n.trie.at(0), char)
		if !ok {
			return "", false
		}
		if data, ok = n.trie.value(at); !ok {
			return "", false
		}
	}
	if data>>30&1 == 0 {
		return "", false
	}
	size, at := data&0x3f, data&(1<<30-1)>>6
	if at+size > len(n.pool) {
		return "", true
	}
	return string(n.pool[at : at+size]), true
}
