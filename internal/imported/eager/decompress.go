package eager

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// decompressor reads compressed strings, one after the other.
type decompressor interface {
	io.Reader
	reset(packed io.Reader) error
}

// zlibReader and gzipReader are created by the first string: a reader is large, and a request may have many short strings.
type zlibReader struct{ io.Reader }

func (z *zlibReader) reset(packed io.Reader) (err error) {
	if r, ok := z.Reader.(zlib.Resetter); ok {
		return r.Reset(packed, nil)
	}
	r, err := zlib.NewReader(packed)
	if err == nil {
		z.Reader = r
	}
	return err
}

type gzipReader struct{ gzip.Reader }

func (g *gzipReader) reset(packed io.Reader) error { return g.Reset(packed) }

// decompressors make a reader, by type of compression.
var decompressors = map[string]func() decompressor{
	"ZLIB": func() decompressor { return &zlibReader{} },
	"GZIP": func() decompressor { return &gzipReader{} },
}

// decodeCompressed decompresses strings. Their memory is paid for as it grows.
func decodeCompressed(s *site) (kernel, error) {
	kind := s.str("compression_type", "")
	open := decompressors[kind]
	if open == nil && kind != "" {
		return nil, fmt.Errorf("Only ZLIB, GZIP or NONE are supported compressions: got %q", kind)
	}
	return func(c call) error {
		if err := want("bytes", c.t(0), tensor.String); err != nil {
			return err
		}
		if open == nil {
			return pass(c)
		}
		out, err := c.output(0, tensor.String, c.t(0).Shape...)
		if err != nil {
			return err
		}
		r, room, step := open(), c.textRoom(), make([]byte, 4<<10)
		for i, packed := range c.t(0).Strings {
			if len(packed) == 0 { // nothing is read
				out.Strings[i] = []byte{}
				continue
			}
			if err := r.reset(bytes.NewReader(packed)); err != nil {
				return err
			}
			if out.Strings[i], err = unpackAll(r, step, &room); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// unpackAll reads a whole string, step by step.
func unpackAll(r io.Reader, step []byte, room *textRoom) (out []byte, err error) {
	for {
		n, err := r.Read(step)
		if err := room.take(n); err != nil {
			return nil, err
		}
		out = append(out, step[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}
