package eager

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

func encodeBase64(s *site) (kernel, error) {
	enc := base64.RawURLEncoding
	if s.boolean("pad", false) {
		enc = base64.URLEncoding
	}
	return eachString(func(s []byte) []byte { return enc.AppendEncode(nil, s) }), nil
}

func decodeBase64(s []byte) ([]byte, error) {
	out, err := base64.RawURLEncoding.AppendDecode(nil, bytes.TrimRight(s, "="))
	if err != nil {
		return nil, fmt.Errorf("invalid base64 character or padding found")
	}
	return out, nil
}

func decodeRaw(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Invalid)
	little := s.boolean("little_endian", true)
	size := d.Size()
	if size == 0 {
		return nil, fmt.Errorf("out_type %v %w", d, ErrUnsupported)
	}
	return func(c call) error {
		in := c.t(0)
		if err := want("bytes", in, tensor.String); err != nil {
			return err
		}
		n := 0
		if len(in.Strings) > 0 {
			n = len(in.Strings[0])
		}
		for i, s := range in.Strings { // before memory for all is allocated
			if len(s) != n {
				return fmt.Errorf("DecodeRaw requires input strings to all be the same size, but element %d has size %d != %d", i, len(s), n)
			}
		}
		if n%size != 0 {
			return fmt.Errorf("input to DecodeRaw has length %d that is not a multiple of %d, the size of %v", n, size, d)
		}
		out, err := c.output(0, d, append(slices.Clone(in.Shape), n/size)...)
		if err != nil {
			return err
		}
		for i, s := range in.Strings {
			copy(out.Bytes[i*n:], s)
		}
		if d == tensor.Bool {
			tensor.NormalizeBools(out.Bytes)
		}
		if !little {
			for b := out.Bytes; len(b) > 0; b = b[size:] {
				slices.Reverse(b[:size])
			}
		}
		return nil
	}, nil
}
