package pieces

import (
	"fmt"
	"slices"
)

// Options say what is added to the pieces of a text, and whether they are reversed.
type Options struct{ BOS, EOS, Reverse bool }

// Token is a piece of a text, with the bytes of the text that it covers.
type Token struct {
	Piece      string
	ID         int
	Begin, End int
}

// tokenBytes is the memory of a token in a growing list.
const tokenBytes = 96

// Encode splits a text into pieces.
func (m *Model) Encode(text string, o Options, room Room) ([]Token, error) {
	t, err := m.norm.apply(text, room)
	if err != nil {
		return nil, err
	}
	normal := string(t.text)
	parts, err := m.split(normal, room)
	if err != nil {
		return nil, err
	}
	var out []Token
	at, unknown, since := 0, false, 0 // since: where the current run of unknown pieces begins
	for _, p := range parts {
		if err := room.take(tokenBytes); err != nil {
			return nil, err
		}
		begin, end := t.from[at], t.from[at+len(p.text)]
		was := unknown
		unknown = p.id == m.unknown
		switch {
		case m.is(p.id, controlPiece): // it covers no text
			out = append(out, Token{p.text, p.id, begin, begin})
			continue
		case unknown && m.byteFallback:
			if err := room.take(2 * tokenBytes * len(p.text)); err != nil {
				return nil, err
			}
			out = m.appendBytes(out, p.text, begin, end)
		case unknown && was:
			last := &out[len(out)-1]
			last.Piece, last.End = normal[since:at+len(p.text)], end
		default:
			since = at
			out = append(out, Token{p.text, p.id, begin, end})
		}
		at += len(p.text)
	}
	if at != len(normal) {
		return nil, fmt.Errorf("all normalized characters are not consumed")
	}
	return m.extend(out, o)
}

// appendBytes adds the bytes of an unknown character. The last one covers the whole character.
func (m *Model) appendBytes(out []Token, text string, begin, end int) []Token {
	for i := range len(text) {
		name, to := byteName(text[i]), begin
		if i == len(text)-1 {
			to = end
		}
		out = append(out, Token{name, m.ID(name), begin, to})
	}
	return out
}

// extend adds what the options ask for. BOS and EOS cover no text; EOS too has offset 0, as in the library.
func (m *Model) extend(out []Token, o Options) ([]Token, error) {
	for _, name := range []struct {
		is   bool
		text string
	}{{o.BOS, m.bos}, {o.EOS, m.eos}} {
		if name.is && m.ID(name.text) == m.unknown {
			return nil, fmt.Errorf("id for `%s` is not defined", name.text)
		}
	}
	if o.BOS {
		out = slices.Insert(out, 0, Token{Piece: m.bos, ID: m.ID(m.bos)})
	}
	if o.EOS {
		out = append(out, Token{Piece: m.eos, ID: m.ID(m.eos)})
	}
	if o.Reverse {
		slices.Reverse(out)
	}
	return out, nil
}
