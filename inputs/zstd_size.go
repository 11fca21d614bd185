package inputs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

var errZstd = errors.New("damaged Zstandard data")

// zstdBlock is the most that a block unpacks to.
const zstdBlock = 128 << 10

// zstdSize returns how many bytes Zstandard frames unpack to at most, by the sizes of their blocks (RFC 8878): what a frame's header
// says of that need not be true.
func zstdSize(content *io.SectionReader) (size int64, err error) {
	in := bufio.NewReader(content)
	for {
		n, err := zstdFrame(in)
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		size += n
	}
}

// zstdFrame is zstdSize of the next frame; io.EOF: there is none.
func zstdFrame(in *bufio.Reader) (size int64, err error) {
	var magic [4]byte
	if _, err := io.ReadFull(in, magic[:]); err != nil {
		return 0, err
	}
	switch m := binary.LittleEndian.Uint32(magic[:]); {
	case m&^15 == 0x184D2A50: // a frame to be passed over
		var n [4]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return 0, errZstd
		}
		_, err := io.CopyN(io.Discard, in, int64(binary.LittleEndian.Uint32(n[:])))
		return 0, zstdErr(err)
	case m != 0xFD2FB528:
		return 0, errZstd
	}
	descriptor, err := in.ReadByte()
	if err != nil {
		return 0, errZstd
	}
	header := []int{0, 1, 2, 4}[descriptor&3] + []int{0, 2, 4, 8}[descriptor>>6] // a dictionary's number, the content's size
	single := descriptor&32 != 0
	if !single || descriptor>>6 == 0 {
		header++ // the window; of a single segment a small size
	}
	if _, err := in.Discard(header); err != nil {
		return 0, errZstd
	}
	for last := false; !last; {
		var head [3]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, errZstd
		}
		b := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
		last = b&1 != 0
		n := int64(b >> 3)
		stored := n
		switch b >> 1 & 3 {
		case 0: // as it is
			size += n
		case 1: // one byte, so many times
			size, stored = size+n, 1
		case 2:
			size += zstdBlock
		default:
			return 0, errZstd
		}
		if _, err := in.Discard(int(stored)); err != nil {
			return 0, errZstd
		}
	}
	if descriptor&4 != 0 { // a checksum
		_, err = in.Discard(4)
	}
	return size, zstdErr(err)
}

func zstdErr(err error) error {
	if err != nil {
		return errZstd
	}
	return nil
}
