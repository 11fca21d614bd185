package collective

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// kind says what a message is.
type kind uint64

const (
	hello    kind = iota + 1 // the first of a link: who sends, in which group
	data                     // bytes of a call
	farewell                 // the sender's group is dead; text says why
)

// header precedes every message of a group. On the wire it is
//
//	message Header {
//	  uint32 kind = 1; fixed64 group = 2; uint64 generation = 3; uint32 rank = 4;
//	  uint64 call = 5; fixed64 layout = 6; uint32 index = 7; bytes text = 8; bool mismatch = 9;
//	}
type header struct {
	kind       kind
	group      uint64 // differs for each formation
	generation int64
	rank       int    // of the sender
	call       uint64 // number of the call in the group, from 1
	layout     uint64 // digest of what the call does
	index      uint64 // number of the message in the call, from 0
	// text is the group's name (hello), what the call does (data of index 0), or the reason (farewell).
	text     []byte
	mismatch bool // farewell: because programs differ
}

const (
	fieldKind protowire.Number = iota + 1
	fieldGroup
	fieldGeneration
	fieldRank
	fieldCall
	fieldLayout
	fieldIndex
	fieldText
	fieldMismatch
)

// append adds h's wire form to b.
func (h *header) append(b []byte) []byte {
	b = appendVarint(b, fieldKind, uint64(h.kind))
	b = protowire.AppendFixed64(protowire.AppendTag(b, fieldGroup, protowire.Fixed64Type), h.group)
	b = appendVarint(b, fieldGeneration, uint64(h.generation))
	b = appendVarint(b, fieldRank, uint64(h.rank))
	b = appendVarint(b, fieldCall, h.call)
	b = protowire.AppendFixed64(protowire.AppendTag(b, fieldLayout, protowire.Fixed64Type), h.layout)
	b = appendVarint(b, fieldIndex, h.index)
	if len(h.text) > 0 {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldText, protowire.BytesType), h.text)
	}
	if h.mismatch {
		b = appendVarint(b, fieldMismatch, 1)
	}
	return b
}

func appendVarint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

var errHeader = errors.New("malformed header of a group message: are all tasks of the same version?")

const (
	maxRank       = 1 << 20
	maxGeneration = 1 << 62
)

// parseHeader is the inverse of append; text aliases b. Unknown fields are skipped.
func parseHeader(b []byte) (header, error) {
	var h header
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return h, fmt.Errorf("%w: %w", errHeader, protowire.ParseError(n))
		}
		b = b[n:]
		if n = h.field(num, typ, b); n < 0 {
			return h, fmt.Errorf("%w: field %d: %w", errHeader, num, protowire.ParseError(n))
		}
		b = b[n:]
	}
	if h.kind < hello || h.kind > farewell || h.generation < 0 || h.generation > maxGeneration || h.rank < 0 || h.rank > maxRank {
		return h, errHeader
	}
	return h, nil
}

// field reads one field's value and returns its length, negative where it is malformed.
func (h *header) field(num protowire.Number, typ protowire.Type, b []byte) int {
	switch {
	case typ == protowire.VarintType && num <= fieldMismatch:
		v, n := protowire.ConsumeVarint(b)
		switch num {
		case fieldKind:
			h.kind = kind(v)
		case fieldGeneration:
			h.generation = int64(v)
		case fieldRank:
			h.rank = int(min(v, maxRank+1))
		case fieldCall:
			h.call = v
		case fieldIndex:
			h.index = v
		case fieldMismatch:
			h.mismatch = v != 0
		}
		return n
	case typ == protowire.Fixed64Type && num == fieldGroup:
		v, n := protowire.ConsumeFixed64(b)
		h.group = v
		return n
	case typ == protowire.Fixed64Type && num == fieldLayout:
		v, n := protowire.ConsumeFixed64(b)
		h.layout = v
		return n
	case typ == protowire.BytesType && num == fieldText:
		v, n := protowire.ConsumeBytes(b)
		h.text = v
		return n
	}
	return protowire.ConsumeFieldValue(num, typ, b)
}
