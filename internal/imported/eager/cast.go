package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// castOps change element types.
var castOps = map[*ops.Def]maker{
	ops.Cast: cast,
}

func cast(s *site) (kernel, error) {
	to := s.dtype("DstT", tensor.Invalid)
	return func(c call) error {
		if c.t(0).DType == to {
			return pass(c)
		}
		src, err := widened(c, c.t(0))
		if err != nil {
			return err
		}
		mid := to
		if to == tensor.Float16 || to == tensor.BFloat16 {
			mid = tensor.Float32
		}
		dst := src
		if src.DType != mid {
			if dst, err = c.alloc(mid, src.Shape...); err != nil {
				return err
			}
			if err := convert(dst, src); err != nil {
				return err
			}
		}
		if mid != to {
			if dst, err = narrowed(c, dst, to); err != nil {
				return err
			}
		}
		c.set(0, dst)
		return nil
	}, nil
}

// convert fills dst with src's elements in dst's type, as C++ does.
func convert(dst, src *tensor.Tensor) error {
	switch src.DType {
	case tensor.Float32:
		return convertFrom[float32](dst, src)
	case tensor.Float64:
		return convertFrom[float64](dst, src)
	case tensor.Int8:
		return convertFrom[int8](dst, src)
	case tensor.Int16:
		return convertFrom[int16](dst, src)
	case tensor.Int32:
		return convertFrom[int32](dst, src)
	case tensor.Int64:
		return convertFrom[int64](dst, src)
	case tensor.Uint8:
		return convertFrom[uint8](dst, src)
	case tensor.Uint16:
		return convertFrom[uint16](dst, src)
	case tensor.Uint32:
		return convertFrom[uint32](dst, src)
	case tensor.Uint64:
		return convertFrom[uint64](dst, src)
	case tensor.Bool:
		return convertInto(dst, cells[uint8](src))
	}
	return fmt.Errorf("cast of %v to %v %w", src.DType, dst.DType, ErrUnsupported)
}

func convertFrom[S number](dst, src *tensor.Tensor) error {
	return convertInto(dst, tensor.Values[S](src))
}

func convertInto[S number](dst *tensor.Tensor, src []S) error {
	switch dst.DType {
	case tensor.Float32:
		convertEach(tensor.Values[float32](dst), src)
	case tensor.Float64:
		convertEach(tensor.Values[float64](dst), src)
	case tensor.Int8:
		convertEach(tensor.Values[int8](dst), src)
	case tensor.Int16:
		convertEach(tensor.Values[int16](dst), src)
	case tensor.Int32:
		convertEach(tensor.Values[int32](dst), src)
	case tensor.Int64:
		convertEach(tensor.Values[int64](dst), src)
	case tensor.Uint8:
		convertEach(tensor.Values[uint8](dst), src)
	case tensor.Uint16:
		convertEach(tensor.Values[uint16](dst), src)
	case tensor.Uint32:
		convertEach(tensor.Values[uint32](dst), src)
	case tensor.Uint64:
		convertEach(tensor.Values[uint64](dst), src)
	case tensor.Bool:
		out := tensor.Values[bool](dst)
		for i, v := range src {
			out[i] = v != 0
		}
	default:
		return fmt.Errorf("cast to %v %w", dst.DType, ErrUnsupported)
	}
	return nil
}

func convertEach[D, S number](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

// widened returns halves as float32, others as they are.
func widened(c call, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType != tensor.Float16 && t.DType != tensor.BFloat16 {
		return t, nil
	}
	out, err := c.alloc(tensor.Float32, t.Shape...)
	if err != nil {
		return nil, err
	}
	dst := tensor.Values[float32](out)
	for i, h := range cells[uint16](t) {
		if t.DType == tensor.BFloat16 {
			dst[i] = math.Float32frombits(uint32(h) << 16)
		} else {
			dst[i] = fromHalf(h)
		}
	}
	return out, nil
}

// narrowed returns float32 as halves of type d, rounded to the nearest, to even on a tie.
func narrowed(c call, t *tensor.Tensor, d tensor.DType) (*tensor.Tensor, error) {
	out, err := c.alloc(d, t.Shape...)
	if err != nil {
		return nil, err
	}
	dst := cells[uint16](out)
	for i, v := range tensor.Values[float32](t) {
		if d == tensor.BFloat16 {
			dst[i] = toBrain(v)
		} else {
			dst[i] = toHalf(v)
		}
	}
	return out, nil
}

func toBrain(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// fromHalf returns the value of an IEEE 754 binary16.
func fromHalf(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// toHalf rounds to a binary16.
func toHalf(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // 65520 and more round to infinity
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: in units of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-112<<23)>>13)
}
