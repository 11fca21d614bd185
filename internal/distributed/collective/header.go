package collective

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

const (
	hello    = wire.GroupMessageKind_GROUP_MESSAGE_KIND_HELLO
	data     = wire.GroupMessageKind_GROUP_MESSAGE_KIND_DATA
	farewell = wire.GroupMessageKind_GROUP_MESSAGE_KIND_FAREWELL
)

var errHeader = errors.New("malformed header of a group message: are all tasks of the same version?")

const (
	maxRank       = 1 << 20
	maxGeneration = 1 << 62
)

// decodeHeader sets h, which may be reused, to the header in b.
func decodeHeader(b []byte, h *wire.GroupHeader) error {
	if err := wire.DecodePart(b, h); err != nil {
		return fmt.Errorf("%w: %w", errHeader, err)
	}
	if h.Kind < hello || h.Kind > farewell || h.Generation > maxGeneration || h.Rank > maxRank {
		return errHeader
	}
	return nil
}

// textOf returns the text in the header in b, which decodeHeader has checked.
func textOf(b []byte) *wire.GroupText {
	t := &wire.GroupText{}
	if wire.DecodePart(b, t) != nil {
		return &wire.GroupText{} // cannot happen: decodeHeader checked the bytes
	}
	return t
}

// encodeHeader appends a header with a text, nil for none, to b.
func encodeHeader(b []byte, h *wire.GroupHeader, t *wire.GroupText) []byte {
	b = wire.Append(b, h)
	if t != nil {
		b = wire.Append(b, t)
	}
	return b
}
