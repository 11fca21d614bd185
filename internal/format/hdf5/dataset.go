package hdf5

import (
	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// inflation is the largest factor by which deflate can shrink data.
const inflation = 1032

// dataset describes an array of numbers; ok is false for others, such as strings.
func (w *walk) dataset(path string, messages []message) (e tensorfile.Entry, ok bool, err error) {
	kind, space, where := find(messages, messageDatatype), find(messages, messageDataspace), find(messages, messageLayout)
	if kind == nil || space == nil || kind.shared || space.shared || find(messages, messageExternal) != nil {
		return e, false, nil // a named type, or data in other files
	}
	e.Name = path
	bigEndian := false
	if e.DType, bigEndian, err = typeOf(kind.cursor); err != nil || e.DType == tensor.Invalid {
		return e, false, err
	}
	dims, null, err := dimensions(space.cursor)
	if err != nil || null {
		return e, false, err
	}
	if e.Shape, err = tensorfile.ShapeOf(dims, e.DType.Size(), inflation*w.size); err != nil {
		return e, false, err
	}
	s, err := w.storage(where.cursor)
	if err != nil {
		return e, false, err
	}
	if m := find(messages, messageFilters); m != nil {
		if s.filters, err = filtersOf(m.cursor); err != nil {
			return e, false, err
		}
	}
	if m := find(messages, messageFill); m != nil {
		s.fill = fillOf(m.cursor)
	}
	if err := s.check(e); err != nil {
		return e, false, err
	}
	e.Load = func() (*tensor.Tensor, error) {
		t := tensor.New(e.DType, e.Shape...)
		if err := s.load(t); err != nil {
			return nil, err
		}
		if bigEndian {
			tensorfile.Swap(t.Bytes, e.DType.Size())
		}
		if e.DType == tensor.Bool {
			tensor.NormalizeBools(t.Bytes)
		}
		return t, nil
	}
	return e, true, nil
}

// The classes of types.
const (
	classInteger = 0
	classFloat   = 1
	classEnum    = 8
)

// typeOf reads a datatype; it returns Invalid for a type that tensors do not have.
func typeOf(c *cursor) (d tensor.DType, bigEndian bool, err error) {
	class := c.number(1)
	bits := c.next(3)
	size := c.number(4)
	if c.err != nil {
		return d, false, c.err
	}
	bigEndian = bits[0]&1 != 0
	switch class & 15 {
	case classInteger:
		signed := map[uint64]tensor.DType{1: tensor.Int8, 2: tensor.Int16, 4: tensor.Int32, 8: tensor.Int64}
		unsigned := map[uint64]tensor.DType{1: tensor.Uint8, 2: tensor.Uint16, 4: tensor.Uint32, 8: tensor.Uint64}
		if bits[0]&8 != 0 {
			return signed[size], bigEndian, nil
		}
		return unsigned[size], bigEndian, nil
	case classFloat:
		c.skip(5) // bit offset, number of bits, start of the exponent
		exponent := c.number(1)
		floats := map[[2]uint64]tensor.DType{{2, 5}: tensor.Float16, {2, 8}: tensor.BFloat16, {4, 8}: tensor.Float32, {8, 11}: tensor.Float64}
		return floats[[2]uint64{size, exponent}], bigEndian, c.err
	case classEnum:
		// h5py's booleans: an enumeration of FALSE and TRUE, one byte each.
		if size == 1 && bits[0] == 2 && bits[1] == 0 {
			return tensor.Bool, false, nil
		}
	}
	return tensor.Invalid, false, nil
}

// dimensions reads a dataspace; null is one without elements.
func dimensions(c *cursor) (dims []uint64, null bool, err error) {
	version, rank := c.number(1), int(c.number(1))
	c.skip(1)
	switch version {
	case 1:
		c.skip(5)
	case 2:
		if c.number(1) == 2 {
			return nil, true, c.err
		}
	default:
		return nil, false, tensorfile.Errorf("version %d of a dataspace, expected 1 or 2", version)
	}
	for range rank {
		dims = append(dims, c.length())
	}
	return dims, false, c.err
}

// fillOf reads the value of elements that were never written; nil: zero.
func fillOf(c *cursor) []byte {
	switch version := c.number(1); version {
	case 1, 2:
		c.skip(2)
		if c.number(1) == 0 && version == 2 {
			return nil
		}
	case 3:
		if c.number(1)&0x20 == 0 {
			return nil
		}
	default:
		return nil
	}
	return c.next(int(c.number(4)))
}
