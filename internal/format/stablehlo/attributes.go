package stablehlo

import (
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// The codes of VHLO attributes that are no enumerations.
const (
	arrayAttr      = 1
	booleanAttr    = 2
	dictionaryAttr = 6
	floatAttr      = 8
	integerAttr    = 9
	stringAttr     = 14
	tensorAttr     = 15
	typeAttr       = 17
)

// enums has the names of VHLO's enumerations, by attribute code and value.
var enums = map[uint64][]Enum{
	3:  {"EQ", "NE", "GE", "GT", "LE", "LT"},
	4:  {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"},
	5:  {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"},
	7:  {"FFT", "IFFT", "RFFT", "IRFFT"},
	11: {"DEFAULT", "HIGH", "HIGHEST"},
	12: {"DEFAULT", "THREE_FRY", "PHILOX"},
	13: {"", "UNIFORM", "NORMAL"},
	16: {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"},
	19: {"DEFAULT", "HIGHEST", "TOLERANCE"},
}

// vhloAttr reads a VHLO attribute. It returns nil for one that is not needed.
func (r *reader) vhloAttr(c *cursor) any {
	code := c.varint()
	if names, ok := enums[code]; ok {
		v := c.varint()
		if v >= uint64(len(names)) {
			return Enum("")
		}
		return names[v]
	}
	switch code {
	case arrayAttr:
		all := make([]any, c.count())
		for i := range all {
			all[i] = r.attrAt(c)
		}
		return all
	case booleanAttr:
		return c.varint() == 1
	case dictionaryAttr:
		return r.dictionary(c)
	case floatAttr:
		return number(r.typeAt(c), c)
	case integerAttr:
		return number(r.typeAt(c), c)
	case stringAttr:
		return r.stringAt(c.varint())
	case tensorAttr:
		t := r.typeAt(c)
		return constantOf(t, c.take(c.varint()))
	case typeAttr:
		return r.typeAt(c)
	}
	return nil
}

// dictionary reads pairs of names and values.
func (r *reader) dictionary(c *cursor) map[string]any {
	n := c.count()
	all := make(map[string]any, n)
	for range n {
		name, _ := r.attrAt(c).(string)
		all[name] = r.attrAt(c)
	}
	return all
}

// number reads an integer, or the bits of a float.
func number(t Type, c *cursor) any {
	size := 0
	for _, e := range elementTypes {
		if e.name == t.Name {
			size = e.bits
		}
	}
	var bits int64
	switch size {
	case 0:
		damaged("a number of type %q", t.Name)
	case 8:
		bits = int64(int8(c.byte()))
	default:
		bits = c.signed()
	}
	switch t.DType {
	case tensor.Float64:
		return math.Float64frombits(uint64(bits))
	case tensor.Float32:
		return float64(math.Float32frombits(uint32(bits)))
	case tensor.Float16:
		return float64(tensor.Float16FromBits(uint16(bits)))
	case tensor.BFloat16:
		return float64(tensor.BFloat16FromBits(uint16(bits)))
	}
	return bits
}

// constantOf makes a constant from an attribute's bytes.
func constantOf(t Type, data []byte) *Constant {
	if t.Kind != Tensor {
		damaged("a constant that is %s", t.Name)
	}
	n := 1
	for _, d := range t.Dims {
		if d < 0 {
			damaged("a constant whose sizes are open")
		}
		if n *= d; n > math.MaxInt32 {
			damaged("a constant of more than %d elements", math.MaxInt32)
		}
	}
	k := &Constant{Type: t, Bytes: data}
	if t.DType == tensor.Bool {
		k.Bytes = unpacked(data, n)
	}
	size := t.DType.Size()
	switch {
	case size == 0: // a type that tensors do not have
	case len(k.Bytes) == n*size:
	case len(k.Bytes) == size:
		k.Splat = true
	default:
		damaged("a constant of %d elements with %d bytes", n, len(data))
	}
	return k
}

// unpacked expands the bits of n bools to bytes. A single byte of ones stands for all of them; data that is not packed does not change.
func unpacked(data []byte, n int) []byte {
	packed := (n + 7) / 8
	switch {
	case len(data) == 1 && data[0] == 0xFF:
		return []byte{1}
	case len(data) == 1 && data[0] == 0 && n > 1:
		return []byte{0}
	case len(data) == packed && (len(data) != n || n == 1):
		all := make([]byte, n)
		for i := range all {
			all[i] = data[i/8] >> (i % 8) & 1
		}
		return all
	}
	all := make([]byte, len(data))
	copy(all, data)
	tensor.NormalizeBools(all)
	return all
}
