package yggdrasil

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Compressions of a blob sequence.
const (
	uncompressed = 0
	gzipped      = 1
)

// maxBlob is the most bytes of a node, which may have many categories or classes.
const maxBlob = 64 << 20

// blobs reads a blob sequence: "BS", a 16-bit version, since version 1 a byte for the compression, the rest of 8 bytes, then
// blobs, each after its 32-bit length. All integers are little-endian.
type blobs struct {
	r    *bufio.Reader
	blob []byte
}

func newBlobs(file io.Reader) (*blobs, error) {
	r := bufio.NewReaderSize(file, 1<<16)
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("header of a blob sequence: %w", unended(err))
	}
	if head[0] != 'B' || head[1] != 'S' {
		return nil, fmt.Errorf("expected a blob sequence, which begins with %q, got %q", "BS", head[:2])
	}
	switch version := binary.LittleEndian.Uint16(head[2:]); {
	case version > 1:
		return nil, fmt.Errorf("blob sequence of version %d: expected 0 or 1", version)
	case version == 0 || head[4] == uncompressed:
		return &blobs{r: r}, nil
	case head[4] == gzipped:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("compressed blob sequence: %w", unended(err))
		}
		return &blobs{r: bufio.NewReaderSize(z, 1<<16)}, nil
	}
	return nil, fmt.Errorf("blob sequence of compression %d: expected 0 or 1", head[4])
}

// next returns the next blob, valid until the next call, and io.EOF after the last one.
func (b *blobs) next() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(b.r, size[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	if n > maxBlob {
		return nil, fmt.Errorf("blob of %d bytes: expected at most %d", n, maxBlob)
	}
	b.blob = b.blob[:0]
	for left := int(n); left > 0; { // a false length costs no memory
		step := min(left, 1<<16)
		b.blob = slices.Grow(b.blob, step)
		had := len(b.blob)
		b.blob = b.blob[:had+step]
		if _, err := io.ReadFull(b.r, b.blob[had:]); err != nil {
			return nil, unended(err)
		}
		left -= step
	}
	return b.blob, nil
}

// unended turns an end of file into an unexpected one.
func unended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
