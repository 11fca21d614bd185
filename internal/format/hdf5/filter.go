package hdf5

import (
	"bytes"
	"compress/zlib"
	"io"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// The filters of chunks.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
)

// filter is one step of a filter pipeline, which was applied in order when a chunk was written.
type filter struct{ id uint64 }

// filtersOf reads a filter pipeline.
func filtersOf(c *cursor) ([]filter, error) {
	version, n := c.number(1), int(c.number(1))
	if version == 1 {
		c.skip(6)
	}
	var out []filter
	for range n {
		f := filter{id: c.number(2)}
		name := uint64(0)
		if version == 1 || f.id >= 256 {
			name = c.number(2)
		}
		c.skip(2)
		values := int(c.number(2))
		if version == 1 {
			name = (name + 7) / 8 * 8
			values += values % 2
		}
		c.skip(int(name) + 4*values)
		if c.err != nil {
			return nil, c.err
		}
		if f.id < filterDeflate || f.id > filterFletcher {
			return nil, tensorfile.Errorf("filter %d: expected deflate, shuffle or Fletcher-32", f.id)
		}
		out = append(out, f)
	}
	return out, nil
}

// undo returns the size bytes of a chunk from its stored bytes; bits of mask mark filters that were not applied.
func undo(filters []filter, mask uint64, b []byte, size, element int) ([]byte, error) {
	for i := len(filters) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		switch filters[i].id {
		case filterDeflate:
			var err error
			if b, err = inflate(b, size+fletcherBytes); err != nil {
				return nil, err
			}
		case filterShuffle:
			b = unshuffle(b, element)
		case filterFletcher:
			if len(b) < fletcherBytes {
				return nil, tensorfile.Errorf("a chunk of %d bytes has no checksum", len(b))
			}
			data, sum := b[:len(b)-fletcherBytes], b[len(b)-fletcherBytes:]
			if got := fletcher(data); !bytes.Equal(got[:], sum) {
				return nil, tensorfile.Errorf("the checksum of a chunk is %x, expected %x", got, sum)
			}
			b = data
		}
	}
	if len(b) != size {
		return nil, tensorfile.Errorf("a chunk of %d bytes, expected %d", len(b), size)
	}
	return b, nil
}

// inflate returns at most limit bytes.
func inflate(b []byte, limit int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, tensorfile.Errorf("a chunk: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err != nil || len(out) > limit {
		return nil, tensorfile.Errorf("a chunk inflates to %d bytes of at most %d: %v", len(out), limit, err)
	}
	return out, nil
}

// unshuffle rejoins the bytes of each element, which were stored grouped by position.
func unshuffle(b []byte, element int) []byte {
	n := len(b) / element
	out := make([]byte, len(b))
	for k := range element {
		for i := range n {
			out[i*element+k] = b[k*n+i]
		}
	}
	copy(out[n*element:], b[n*element:])
	return out
}

// fletcherBytes is the size of a checksum.
const fletcherBytes = 4

// fletcher is HDF5's checksum: Fletcher-32 over big-endian 16-bit words.
func fletcher(b []byte) [fletcherBytes]byte {
	const modulus = 65535
	low, high := uint64(0), uint64(0)
	for i := 0; i < len(b); i += 2 {
		word := uint64(b[i]) << 8
		if i+1 < len(b) {
			word |= uint64(b[i+1])
		}
		low = (low + word) % modulus
		high = (high + low) % modulus
	}
	return [fletcherBytes]byte{byte(low), byte(low >> 8), byte(high), byte(high >> 8)}
}
