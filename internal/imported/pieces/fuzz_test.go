package pieces

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// errFull says that the room is used up.
var errFull = errors.New("full")

// roomOf grants that many bytes.
func roomOf(bytes int) Room {
	return func(n int) error {
		if n < 0 {
			panic("less than nothing is taken")
		}
		if bytes -= n; bytes < 0 {
			return errFull
		}
		return nil
	}
}

// fuzzRoom is enough for any text of a fuzz target; a damaged model that needs more is refused.
const fuzzRoom = 64 << 20

// FuzzSentencepiece: damaged models split text and join pieces without a panic, an endless loop or offsets outside the text.
func FuzzSentencepiece(f *testing.F) {
	for _, g := range readRecorded(f).Sentencepiece {
		f.Add(g.Model, " hello quick 中 world\x00\xff")
	}
	f.Fuzz(func(t *testing.T, model []byte, text string) {
		m, err := Parse(model)
		if err != nil {
			return
		}
		tokens, err := m.Encode(text, Options{true, true, true}, roomOf(fuzzRoom))
		var names []string
		for _, p := range tokens {
			if p.Begin < 0 || p.Begin > p.End || p.End > len(text) {
				t.Fatalf("piece %q is at %d to %d of a text of %d bytes", p.Piece, p.Begin, p.End, len(text))
			}
			if name, err := m.Piece(p.ID); err != nil {
				t.Fatalf("piece %d: %v", p.ID, err)
			} else {
				names = append(names, name)
			}
		}
		if err == nil {
			_, _ = m.Decode(append(names, text), Options{true, true, true}, roomOf(fuzzRoom))
		}
	})
}

// FuzzWordpieces is the same for word piece models.
func FuzzWordpieces(f *testing.F) {
	for _, g := range readRecorded(f).Wordpieces {
		f.Add(g.Model, "jumped over 中\x00\xff")
	}
	f.Fuzz(func(t *testing.T, model []byte, text string) {
		w, err := NewWordpieces(model)
		if err != nil {
			return
		}
		parts, _ := w.Split(text, roomOf(fuzzRoom))
		for _, p := range parts {
			if p.Begin < 0 || p.Begin > p.End || p.End > len(text) {
				t.Fatalf("piece %q is at %d to %d of a text of %d bytes", p.Text, p.Begin, p.End, len(text))
			}
		}
	})
}

// FuzzBertNormalizer: a damaged model turns any text into a text, with an offset for each byte.
func FuzzBertNormalizer(f *testing.F) {
	for _, g := range readRecorded(f).Wordpieces { // the same kind of file
		f.Add(g.Model, "Jumped ÖVER 中\x00\xff")
	}
	f.Fuzz(func(t *testing.T, model []byte, text string) {
		n, err := NewBertNormalizer(model)
		if err != nil {
			return
		}
		out, from, err := n.Apply(text, roomOf(fuzzRoom))
		if err != nil {
			return
		}
		if len(from) != len(out)+1 || utf8.ValidString(text) && len(text) > 0 && from[len(out)] != len(text) {
			t.Fatalf("%d bytes have %d places, the last %v", len(out), len(from), from[len(from)-1:])
		}
		for _, at := range from {
			if at < 0 || at > len(text) {
				t.Fatalf("place %d of a text of %d bytes", at, len(text))
			}
		}
	})
}
