package pieces

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode joins pieces into a text.
func (m *Model) Decode(pieces []string, o Options, room Room) (string, error) {
	if err := room.take(tokenBytes * len(pieces)); err != nil {
		return "", err
	}
	tokens := make([]Token, len(pieces))
	for i, p := range pieces {
		tokens[i] = Token{Piece: p, ID: m.ID(p)}
	}
	tokens, err := m.extend(tokens, o)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	var raw []byte // consecutive byte pieces
	for _, t := range tokens {
		if m.is(t.ID, bytePiece) {
			raw = append(raw, byteOf(t.Piece))
			continue
		}
		writeBytes(&text, raw)
		raw = raw[:0]
		surface := m.surface(t, text.Len() == 0)
		if err := room.take(len(surface)); err != nil {
			return "", err
		}
		text.WriteString(surface)
	}
	writeBytes(&text, raw)
	if m.denorm != nil && len(m.denorm.rules) > 0 {
		t, err := m.denorm.apply(text.String(), room)
		return string(t.text), err
	}
	return text.String(), nil
}

// byteOf returns the byte that byteName wrote.
func byteOf(piece string) byte {
	b, err := strconv.ParseUint(strings.Trim(piece, "<>"), 0, 8)
	if err != nil {
		return 0 // no byte has that name: the model is damaged
	}
	return byte(b)
}

// writeBytes writes U+FFFD for each byte that is not part of a character.
func writeBytes(text *strings.Builder, raw []byte) {
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		text.WriteRune(r)
		raw = raw[size:]
	}
}

// surface returns how a piece looks in a text; first says that it begins the text.
func (m *Model) surface(t Token, first bool) string {
	switch {
	case m.is(t.ID, controlPiece):
		return ""
	case t.ID == m.unknown && m.pieces[t.ID].text == t.Piece:
		return m.unkSurface
	case t.ID == m.unknown:
		return t.Piece
	}
	piece := t.Piece
	if first && (m.norm.dummyPrefix || m.norm.removeSpaces) {
		piece = strings.TrimPrefix(piece, space)
	}
	return strings.ReplaceAll(piece, space, " ")
}
