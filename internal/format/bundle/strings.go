package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
)

// A string tensor is stored as the varint64 length of each element, the masked
// checksum of the lengths, then the elements' bytes. For checksums, a length
// counts as a fixed uint32, or as a uint64 if it needs one.

// stringHead returns the lengths and their checksum as stored, and the unmasked
// running checksum of the tensor so far.
func stringHead(elems [][]byte) (head []byte, crc uint32) {
	var fixed []byte
	for _, s := range elems {
		head = binary.AppendUvarint(head, uint64(len(s)))
		fixed = appendFixedLength(fixed[:0], uint64(len(s)))
		crc = maskedcrc.Update(crc, fixed)
	}
	sum := binary.LittleEndian.AppendUint32(nil, maskedcrc.Mask(crc))
	return append(head, sum...), maskedcrc.Update(crc, sum)
}

func appendFixedLength(b []byte, n uint64) []byte {
	if n <= math.MaxUint32 {
		return binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, n)
}

// parseStrings decodes n elements, which alias raw, and returns the masked checksum of the whole.
func parseStrings(raw []byte, n int) (elems [][]byte, crc uint32, err error) {
	if n > len(raw) { // each length takes at least a byte
		return nil, 0, fmt.Errorf("%d bytes are too few for %d strings", len(raw), n)
	}
	lengths := make([]uint64, n)
	var fixed []byte
	rest := raw
	for i := range lengths {
		v, k := binary.Uvarint(rest)
		if k <= 0 {
			return nil, 0, fmt.Errorf("bad length of string %d", i)
		}
		lengths[i], rest = v, rest[k:]
		fixed = appendFixedLength(fixed[:0], v)
		crc = maskedcrc.Update(crc, fixed)
	}
	if len(rest) < 4 {
		return nil, 0, errors.New("the checksum of the lengths is missing")
	}
	if want, got := binary.LittleEndian.Uint32(rest), maskedcrc.Mask(crc); want != got {
		return nil, 0, fmt.Errorf("checksum of the string lengths: stored %08x, computed %08x", want, got)
	}
	crc = maskedcrc.Update(crc, rest[:4])
	rest = rest[4:]
	crc = maskedcrc.Update(crc, rest)
	elems = make([][]byte, n)
	for i, l := range lengths {
		if l > uint64(len(rest)) {
			return nil, 0, fmt.Errorf("string %d of %d bytes does not fit", i, l)
		}
		elems[i], rest = rest[:l:l], rest[l:]
	}
	if len(rest) != 0 {
		return nil, 0, fmt.Errorf("%d bytes are left over after the last string", len(rest))
	}
	return elems, maskedcrc.Mask(crc), nil
}
