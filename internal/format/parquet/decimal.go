package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
)

// decimals returns the values of a decimal column.
func (l *leaf) decimals() (arrow.Array, error) {
	wide := l.typ.ID() == arrow.DECIMAL256
	switch l.physical {
	case parquet.Types.Int32:
		return l.fixed(decimalsOf(l.mem, l.int32s(), wide)), nil
	case parquet.Types.Int64:
		return l.fixed(decimalsOf(l.mem, l.int64s(), wide)), nil
	}
	a, err := l.bytes()
	if err != nil {
		return nil, err
	}
	defer a.Release()
	var values *memory.Buffer
	if wide {
		values, err = decimals256(l.mem, a)
	} else {
		values, err = decimals128(l.mem, a)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.name, err)
	}
	defer values.Release()
	valid := a.Data().Buffers()[0]
	if a.NullN() == 0 {
		valid = nil
	}
	data := array.NewData(l.typ, a.Len(), []*memory.Buffer{valid, values}, nil, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// decimalsOf converts integers to decimals.
func decimalsOf[T int32 | int64](mem memory.Allocator, in []T, wide bool) *memory.Buffer {
	if wide {
		b, out := room[decimal256.Num](mem, len(in))
		for i, v := range in {
			out[i] = decimal256.FromI64(int64(v))
		}
		return b
	}
	b, out := room[decimal128.Num](mem, len(in))
	for i, v := range in {
		out[i] = decimal128.FromI64(int64(v))
	}
	return b
}

// bigEndian is an array of byte strings that are big-endian integers.
type bigEndian interface {
	arrow.Array
	Value(i int) []byte
}

func decimals128(mem memory.Allocator, a arrow.Array) (*memory.Buffer, error) {
	b, out := room[decimal128.Num](mem, a.Len())
	err := eachDecimal(a, 16, func(i int, v []byte) {
		out[i] = decimal128.New(int64(binary.BigEndian.Uint64(v)), binary.BigEndian.Uint64(v[8:]))
	})
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func decimals256(mem memory.Allocator, a arrow.Array) (*memory.Buffer, error) {
	b, out := room[decimal256.Num](mem, a.Len())
	err := eachDecimal(a, 32, func(i int, v []byte) {
		out[i] = decimal256.New(binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:]), binary.BigEndian.Uint64(v[16:]), binary.BigEndian.Uint64(v[24:]))
	})
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// eachDecimal calls to with each value, sign-extended to width bytes. Nulls are 0.
func eachDecimal(a arrow.Array, width int, to func(i int, v []byte)) error {
	in, ok := a.(bigEndian)
	if !ok {
		return fmt.Errorf("%s does not hold decimals", a.DataType())
	}
	full := make([]byte, width)
	for i := range a.Len() {
		var v []byte
		if !a.IsNull(i) {
			if v = in.Value(i); len(v) == 0 || len(v) > width {
				return fmt.Errorf("value %d is a decimal of %d bytes, expected 1 to %d", i, len(v), width)
			}
		}
		sign := byte(0)
		if len(v) > 0 {
			sign = byte(int8(v[0]) >> 7)
		}
		rest := full[:width-len(v)]
		for j := range rest {
			rest[j] = sign
		}
		copy(full[len(rest):], v)
		to(i, full)
	}
	return nil
}
