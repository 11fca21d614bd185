package pieces

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// space stands for a space in pieces.
const space = "\u2581"

// normalizer rewrites text into the form that pieces have.
type normalizer struct {
	rules                                   doubleArray
	results                                 []byte // the results of rules, zero-terminated
	dummyPrefix, removeSpaces, escapeSpaces bool
	suffixSpace                             bool
	defined                                 *prefixes // nil: none
}

func (n *normalizer) defaults() { n.dummyPrefix, n.removeSpaces, n.escapeSpaces = true, true, true }

func (n *normalizer) parse(body []byte) error {
	return eachField(body, func(number protowire.Number, bits uint64, body []byte) error {
		switch number {
		case 2:
			return n.charsmap(body)
		case 3:
			n.dummyPrefix = bits != 0
		case 4:
			n.removeSpaces = bits != 0
		case 5:
			n.escapeSpaces = bits != 0
		}
		return nil
	})
}

// charsmap reads compiled rules: the size of the double array, the double array, and the results.
func (n *normalizer) charsmap(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if len(b) <= 4 {
		return errDamaged
	}
	size := int(binary.LittleEndian.Uint32(b))
	if b = b[4:]; size >= len(b) {
		return errDamaged
	}
	n.rules, n.results = doubleArray(b[:size]), b[size:]
	return nil
}

// prefix returns the normalized form of the first characters of s, and their length in bytes.
func (n *normalizer) prefix(s string) (string, int) {
	if n.defined != nil {
		if size := n.defined.longest(s); size > 0 {
			return s[:size], size
		}
	}
	if size, at := n.rules.longest(s); size > 0 && at < len(n.results) {
		text, _, _ := bytes.Cut(n.results[at:], []byte{0})
		return string(text), size
	}
	if r, size := utf8.DecodeRuneInString(s); r != utf8.RuneError || size > 1 {
		return s[:size], size
	}
	return string(utf8.RuneError), 1
}

// normalized is a text, with the origin of each of its bytes.
type normalized struct {
	text    []byte
	from    []int // for each byte, and for the end
	escaped string
}

func (t *normalized) add(s string, from int) {
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' {
			t.text = append(t.text, t.escaped...)
		} else {
			t.text = append(t.text, s[i])
		}
		for len(t.from) < len(t.text) {
			t.from = append(t.from, from)
		}
	}
}

// apply normalizes a text.
func (n *normalizer) apply(s string, room Room) (normalized, error) {
	t := normalized{escaped: " "}
	if n.escapeSpaces {
		t.escaped = space
	}
	at := 0
	for n.removeSpaces && at < len(s) {
		to, size := n.prefix(s[at:])
		if err := room.take(0); err != nil {
			return t, err
		}
		if to != " " {
			break
		}
		at += size
	}
	if at == len(s) {
		return normalized{from: []int{at}}, nil
	}
	if n.dummyPrefix && !n.suffixSpace {
		t.add(" ", at)
	}
	after := n.removeSpaces // a space
	for at < len(s) {
		to, size := n.prefix(s[at:])
		if err := room.take(2 * (8 + 1) * len(t.escaped) * len(to)); err != nil { // all may be spaces
			return t, err
		}
		if after {
			to = strings.TrimLeft(to, " ")
		}
		if to != "" {
			t.add(to, at)
			after = n.removeSpaces && strings.HasSuffix(to, " ")
		}
		at += size
	}
	for n.removeSpaces && bytes.HasSuffix(t.text, []byte(t.escaped)) {
		end := len(t.text) - len(t.escaped)
		at = t.from[end]
		t.text, t.from = t.text[:end], t.from[:end]
	}
	if n.dummyPrefix && n.suffixSpace {
		t.add(" ", at)
	}
	t.from = append(t.from, at)
	return t, nil
}
