package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// decodePaddedRaw reads the bytes of strings as numbers: each string is cut off at, or padded with zeros to, a fixed length in bytes.
func decodePaddedRaw(s *site) (kernel, error) {
	d, little := s.dtype("out_type", tensor.Invalid), s.boolean("little_endian", true)
	size := d.Size()
	if size == 0 {
		return nil, fmt.Errorf("out_type %v %w", d, ErrUnsupported)
	}
	return func(c call) error {
		if err := want("input_bytes", c.t(0), tensor.String); err != nil {
			return err
		}
		n, err := integer("fixed_length", c.t(1))
		if err != nil {
			return err
		}
		if n <= 0 || n%size != 0 {
			return fmt.Errorf("fixed_length (%d) must be greater than zero and a multiple of the size of %s, %d", n, ops.DecodePaddedRaw.Name, size)
		}
		out, err := c.output(0, d, append(slices.Clone(c.t(0).Shape), n/size)...)
		if err != nil {
			return err
		}
		for i, text := range c.t(0).Strings {
			copy(out.Bytes[i*n:(i+1)*n], text)
		}
		for b := out.Bytes; !little && len(b) > 0; b = b[size:] {
			slices.Reverse(b[:size])
		}
		return nil
	}, nil
}
