package inputs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

var errZstd = errors.New("damaged Zstandard data")

// zstdBlock is the most bytes that a block unpacks to.
const zstdBlock = 128 << 10

// zstdSize returns an upper bound of the unpacked size of Zstandard frames, from the sizes of their blocks
// (RFC 8878), since the size in a frame's header may be false. It reads only the headers.
func zstdSize(content *io.SectionReader) (size int64, err error) {
	z := zstdReader{content: content, in: bufio.NewReaderSize(content, 512)}
	for {
		if _, err := z.in.Peek(1); err == io.EOF {
			return size, nil
		}
		n, err := z.frame()
		if err != nil {
			return size, err
		}
		size += n
	}
}

// zstdReader reads parts of Zstandard data and skips the rest.
type zstdReader struct {
	content *io.SectionReader
	in      *bufio.Reader // of content
}

// number reads the next n bytes, at most 4, as a number.
func (z *zstdReader) number(n int) (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(z.in, b[:n]); err != nil {
		return 0, zstdErr(err)
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// skip skips the next n bytes without reading them.
func (z *zstdReader) skip(n int64) error {
	buffered := int64(z.in.Buffered())
	if n <= buffered {
		_, err := z.in.Discard(int(n))
		return err
	}
	at, err := z.content.Seek(n-buffered, io.SeekCurrent)
	if err == nil && at > z.content.Size() {
		err = errZstd
	}
	z.in.Reset(z.content)
	return err
}

// frame returns an upper bound of the next frame's unpacked size.
func (z *zstdReader) frame() (size int64, err error) {
	magic, err := z.number(4)
	switch {
	case err != nil:
		return 0, err
	case magic&^15 == 0x184D2A50: // a skippable frame
		n, err := z.number(4)
		if err != nil {
			return 0, err
		}
		return 0, z.skip(int64(n))
	case magic != 0xFD2FB528:
		return 0, errZstd
	}
	descriptor, err := z.number(1)
	if err != nil {
		return 0, err
	}
	header := []int64{0, 1, 2, 4}[descriptor&3] + []int64{0, 2, 4, 8}[descriptor>>6] // dictionary ID and content size
	single := descriptor&32 != 0
	if !single || descriptor>>6 == 0 {
		header++ // the window, or a small content size in a single segment
	}
	if err := z.skip(header); err != nil {
		return 0, err
	}
	for last := false; !last; {
		var n int64
		if n, last, err = z.block(); err != nil {
			return 0, err
		}
		size += n
	}
	if descriptor&4 != 0 { // a checksum
		err = z.skip(4)
	}
	return size, err
}

// block returns an upper bound of the next block's unpacked size, and whether it is the frame's last block.
func (z *zstdReader) block() (size int64, last bool, err error) {
	head, err := z.number(3)
	if err != nil {
		return 0, false, err
	}
	n := int64(head >> 3)
	size, stored := n, n
	switch head >> 1 & 3 {
	case 0: // raw
	case 1: // one byte, repeated
		stored = 1
	case 2:
		size = zstdBlock
	default:
		return 0, false, errZstd
	}
	return size, head&1 != 0, z.skip(stored)
}

// zstdErr turns an early end of the data into an error about damage; other errors are read errors.
func zstdErr(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errZstd
	}
	return err
}
