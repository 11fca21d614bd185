package pieces

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Model is a SentencePiece model. It never changes.
type Model struct {
	pieces   []piece
	normal   map[string]int // pieces that texts are split into
	reserved map[string]int // the others: controls, bytes and the unknown piece
	defined  *prefixes      // pieces that are never split
	unknown  int
	size     int       // total bytes of all pieces
	trie     *prefixes // of normal, for unigrams
	min, max float32   // scores of normal pieces

	kind         kind
	byteFallback bool
	suffixSpace  bool // a space is added behind a text, not before it
	bos, eos     string
	unkSurface   string
	norm         normalizer
	denorm       *normalizer
}

// kind is the algorithm of a model.
type kind uint64

const (
	unigram kind = iota + 1
	pairs
	words
	characters
)

// piece is an entry of the vocabulary.
type piece struct {
	text  string
	score float32
	kind  pieceKind
}

// pieceKind says what a piece is for.
type pieceKind uint64

const (
	normalPiece pieceKind = iota + 1
	unknownPiece
	controlPiece
	definedPiece
	unusedPiece
	bytePiece
)

// maxPieces bounds the total bytes of all pieces: each byte may take a node of a trie, of 40 bytes or more.
const maxPieces = 16 << 20

var errDamaged = errors.New("damaged SentencePiece model")

// Parse reads a serialized ModelProto.
func Parse(data []byte) (*Model, error) {
	m := &Model{normal: map[string]int{}, reserved: map[string]int{}, unknown: -1, kind: unigram, bos: "<s>", eos: "</s>", unkSurface: " \u2047 "}
	m.norm.defaults()
	err := eachField(data, func(number protowire.Number, bits uint64, body []byte) error {
		switch number {
		case 1:
			return m.addPiece(body)
		case 2:
			return m.trainer(body)
		case 3:
			return m.norm.parse(body)
		case 5:
			m.denorm = &normalizer{}
			m.denorm.defaults()
			return m.denorm.parse(body)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, m.complete()
}

// eachField calls f for each field of a message: with the bits of a number, or else with the bytes of the field.
func eachField(data []byte, f func(number protowire.Number, bits uint64, body []byte) error) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errDamaged
		}
		data = data[n:]
		var bits uint64
		var body []byte
		switch typ {
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(data)
			bits = uint64(v)
		case protowire.BytesType:
			body, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, typ, data)
		}
		if n < 0 {
			return errDamaged
		}
		data = data[n:]
		if err := f(number, bits, body); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) addPiece(body []byte) error {
	p := piece{kind: normalPiece}
	err := eachField(body, func(number protowire.Number, bits uint64, body []byte) error {
		switch number {
		case 1:
			p.text = string(body)
		case 2:
			p.score = math.Float32frombits(uint32(bits))
		case 3:
			p.kind = pieceKind(bits)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.text == "" {
		return errors.New("piece must not be empty")
	}
	if m.size += len(p.text); m.size > maxPieces {
		return fmt.Errorf("pieces of more than %d bytes", maxPieces)
	}
	id, at := len(m.pieces), m.reserved
	if p.kind == normalPiece || p.kind == definedPiece || p.kind == unusedPiece {
		at = m.normal
	}
	if _, ok := at[p.text]; ok {
		return fmt.Errorf("%s is already defined", p.text)
	}
	if p.kind == unknownPiece {
		if m.unknown >= 0 {
			return errors.New("unk is already defined")
		}
		m.unknown = id
	}
	at[p.text] = id
	m.pieces = append(m.pieces, p)
	return nil
}

func (m *Model) trainer(body []byte) error {
	return eachField(body, func(number protowire.Number, bits uint64, body []byte) error {
		switch number {
		case 3:
			m.kind = kind(bits)
		case 24:
			m.suffixSpace = bits != 0
		case 35:
			m.byteFallback = bits != 0
		case 44:
			m.unkSurface = string(body)
		case 46:
			m.bos = string(body)
		case 47:
			m.eos = string(body)
		}
		return nil
	})
}

// complete checks the model and computes what is derived from it.
func (m *Model) complete() error {
	if m.unknown < 0 {
		return errors.New("unk is not defined")
	}
	if m.kind < unigram || m.kind > characters {
		return fmt.Errorf("%w: model type %d", errDamaged, m.kind)
	}
	for b := range 256 {
		if _, ok := m.reserved[byteName(byte(b))]; m.byteFallback && !ok {
			return errors.New("there are not 256 byte pieces although byte_fallback is true")
		}
	}
	m.defined, m.trie = newPrefixes(), newPrefixes()
	m.min, m.max = math.MaxFloat32, -math.MaxFloat32
	for id, p := range m.pieces {
		switch p.kind {
		case definedPiece:
			m.defined.add(p.text, id)
		case normalPiece:
			m.min, m.max = min(m.min, p.score), max(m.max, p.score)
		}
	}
	if m.kind == unigram {
		for text, id := range m.normal {
			m.trie.add(text, id)
		}
	}
	m.norm.defined, m.norm.suffixSpace = m.defined, m.suffixSpace
	return nil
}

func byteName(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// Len returns the number of pieces.
func (m *Model) Len() int { return len(m.pieces) }

// Piece returns the text of a piece.
func (m *Model) Piece(id int) (string, error) {
	if id < 0 || id >= len(m.pieces) {
		return "", fmt.Errorf("Invalid id: %d", id) //nolint:staticcheck // clients know this text
	}
	return m.pieces[id].text, nil
}

// ID returns the number of a piece, or the unknown piece's number for any other text.
func (m *Model) ID(text string) int {
	if id, ok := m.reserved[text]; ok {
		return id
	}
	if id, ok := m.normal[text]; ok {
		return id
	}
	return m.unknown
}

func (m *Model) is(id int, k pieceKind) bool { return m.pieces[id].kind == k }
