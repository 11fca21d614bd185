package stablehlo

import (
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// elementType is an element type of VHLO.
type elementType struct {
	name  string
	dtype tensor.DType
	bits  int
}

// elementTypes has the element types of VhloBytecode.cpp, by code.
var elementTypes = map[uint64]elementType{
	0: {"i1", tensor.Bool, 8}, 2: {"bf16", tensor.BFloat16, 16}, 3: {"f16", tensor.Float16, 16}, 4: {"f32", tensor.Float32, 32}, 5: {"f64", tensor.Float64, 64},
	6: {"f8E4M3FN", tensor.Invalid, 8}, 7: {"f8E5M2", tensor.Invalid, 8}, 9: {"index", tensor.Invalid, 64}, 10: {"si4", tensor.Invalid, 8}, 11: {"si8", tensor.Int8, 8},
	12: {"si16", tensor.Int16, 16}, 13: {"si32", tensor.Int32, 32}, 14: {"si64", tensor.Int64, 64}, 15: {"ui4", tensor.Invalid, 8}, 16: {"ui8", tensor.Uint8, 8},
	17: {"ui16", tensor.Uint16, 16}, 18: {"ui32", tensor.Uint32, 32}, 19: {"ui64", tensor.Uint64, 64}, 27: {"f8E4M3FNUZ", tensor.Invalid, 8},
	28: {"f8E5M2FNUZ", tensor.Invalid, 8}, 29: {"f8E4M3B11FNUZ", tensor.Invalid, 8}, 31: {"si2", tensor.Invalid, 8}, 32: {"ui2", tensor.Invalid, 8},
	34: {"tf32", tensor.Invalid, 32}, 35: {"f8E4M3", tensor.Invalid, 8}, 36: {"f8E3M4", tensor.Invalid, 8}, 37: {"f4E2M1FN", tensor.Invalid, 8},
	38: {"f6E2M3FN", tensor.Invalid, 8}, 39: {"f6E3M2FN", tensor.Invalid, 8}, 40: {"f8E8M0FNU", tensor.Invalid, 8},
}

// The codes of types other than element types.
const (
	complexType        = 1
	rankedTensor       = 20
	encodedTensor      = 21
	tokenType          = 22
	unrankedTensorType = 25
)

// maxRank bounds the rank of a tensor, like TensorFlow.
const maxRank = 254

// vhloType reads a type of VHLO.
func (r *reader) vhloType(c *cursor) Type {
	code := c.varint()
	if e, ok := elementTypes[code]; ok {
		return Type{Kind: Element, Name: e.name, DType: e.dtype}
	}
	switch code {
	case complexType:
		e := r.typeAt(c)
		t := Type{Kind: Element, Name: "complex<" + e.Name + ">"}
		switch e.DType {
		case tensor.Float32:
			t.DType = tensor.Complex64
		case tensor.Float64:
			t.DType = tensor.Complex128
		}
		return t
	case encodedTensor:
		c.varint() // bounds or sparsity: the index of an attribute
		return r.ranked(c)
	case rankedTensor:
		return r.ranked(c)
	case tokenType:
		return Type{Kind: Token, Name: "token"}
	case unrankedTensorType:
		return Type{Name: "unranked tensor"}
	}
	return Type{Name: "a type that is no tensor"}
}

// ranked reads a tensor's sizes and element type.
func (r *reader) ranked(c *cursor) Type {
	n := c.count()
	if n > maxRank {
		damaged("a tensor of rank %d: expected at most %d", n, maxRank)
	}
	t := Type{Kind: Tensor, Dims: make([]int, n)}
	for i := range t.Dims {
		switch d := c.signed(); {
		case d == math.MinInt64 || d == -1: // an unknown size; its encoding has changed over time
			t.Dims[i] = -1
		case d < 0 || d > math.MaxInt32:
			damaged("a tensor of size %d: expected up to %d", d, math.MaxInt32)
		default:
			t.Dims[i] = int(d)
		}
	}
	e := r.typeAt(c)
	t.Name, t.DType = e.Name, e.DType
	return t
}
