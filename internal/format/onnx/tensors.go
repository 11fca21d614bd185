package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/proto"
)

// elementTypes is the inverse of types.
var elementTypes = func() map[TensorProto_DataType]tensor.DType {
	all := map[TensorProto_DataType]tensor.DType{}
	for d, t := range types {
		all[t] = d
	}
	all[TensorProto_INT4], all[TensorProto_UINT4] = tensor.Int4, tensor.Uint4 // read, but never written
	return all
}()

// DTypeOf returns the element type for a number of the format.
func DTypeOf(number int) (tensor.DType, error) {
	if d, ok := elementTypes[TensorProto_DataType(number)]; ok {
		return d, nil
	}
	return tensor.Invalid, fmt.Errorf("element type %v (%d) is not supported", TensorProto_DataType(number), number)
}

// tensor reads a tensor: from raw bytes, a list of numbers, or a file beside the model. The number of elements must match its shape.
func (d *decoder) tensor(p *TensorProto) (*tensor.Tensor, error) {
	typ, err := DTypeOf(int(p.GetDataType()))
	if err != nil {
		return nil, err
	}
	shape, n, err := sizes(p.GetDims(), max(typ.Size(), 1))
	if err != nil {
		return nil, err
	}
	switch {
	case typ == tensor.Int4 || typ == tensor.Uint4:
		return d.nibbles(p, typ, shape, n)
	case typ == tensor.String:
		if len(p.GetStringData()) != n {
			return nil, fmt.Errorf("%d strings for shape %v", len(p.GetStringData()), shape)
		}
		return tensor.FromStrings(p.GetStringData(), shape...)
	case p.GetDataLocation() == TensorProto_EXTERNAL:
		data, err := d.files.read(p.GetExternalData(), n*typ.Size())
		if err != nil {
			return nil, err
		}
		return fromBytes(typ, shape, n, data)
	case p.RawData != nil:
		return fromBytes(typ, shape, n, p.GetRawData())
	}
	return fromLists(p, typ, shape, n)
}

// nibbles reads 4-bit elements, two per byte, the lower half first. Each becomes a byte.
func (d *decoder) nibbles(p *TensorProto, typ tensor.DType, shape []int, n int) (*tensor.Tensor, error) {
	packed, size := p.GetRawData(), (n+1)/2
	switch {
	case p.GetDataLocation() == TensorProto_EXTERNAL:
		var err error
		if packed, err = d.files.read(p.GetExternalData(), size); err != nil {
			return nil, err
		}
	case p.RawData == nil:
		for _, v := range p.GetInt32Data() {
			packed = append(packed, byte(v))
		}
	}
	if len(packed) != size {
		return nil, fmt.Errorf("%d bytes for %v of shape %v: expected %d", len(packed), typ, shape, size)
	}
	t := tensor.New(typ, shape...)
	for i := range n {
		v := packed[i/2] >> (4 * (i % 2)) & 15
		if typ == tensor.Int4 && v > 7 {
			v |= 0xf0
		}
		t.Bytes[i] = v
	}
	return t, nil
}

// sizes returns a shape and its number of elements, each of size bytes.
func sizes(dims []int64, size int) ([]int, int, error) {
	if len(dims) > maxRank {
		return nil, 0, fmt.Errorf("rank %d: expected at most %d", len(dims), maxRank)
	}
	shape, n := make([]int, len(dims)), 1
	for i, v := range dims {
		if v < 0 {
			return nil, 0, fmt.Errorf("shape %v: expected no negative size", dims)
		}
		if shape[i] = int(v); v > 0 && n > math.MaxInt32*16/size/int(min(v, math.MaxInt32*16)) {
			return nil, 0, fmt.Errorf("shape %v is too large", dims)
		}
		n *= int(v)
	}
	return shape, n, nil
}

// fromBytes returns a tensor of little-endian elements, whose memory it shares if they are aligned.
func fromBytes(typ tensor.DType, shape []int, n int, data []byte) (*tensor.Tensor, error) {
	if len(data) != n*typ.Size() {
		return nil, fmt.Errorf("%d bytes for %v of shape %v: expected %d", len(data), typ, shape, n*typ.Size())
	}
	t := &tensor.Tensor{DType: typ, Shape: shape, Bytes: data}
	if n == 0 || uintptr(unsafe.Pointer(&data[0]))%uintptr(min(typ.Size(), 8)) != 0 {
		t = tensor.New(typ, shape...)
		copy(t.Bytes, data)
	}
	if typ == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t, nil
}

// fromLists returns a tensor from the list of numbers for its type.
func fromLists(p *TensorProto, typ tensor.DType, shape []int, n int) (*tensor.Tensor, error) {
	have := map[tensor.DType]int{tensor.Float32: len(p.GetFloatData()), tensor.Float64: len(p.GetDoubleData()), tensor.Int64: len(p.GetInt64Data()),
		tensor.Uint32: len(p.GetUint64Data()), tensor.Uint64: len(p.GetUint64Data()),
		tensor.Complex64: len(p.GetFloatData()) / 2, tensor.Complex128: len(p.GetDoubleData()) / 2}
	got, ok := have[typ]
	if !ok {
		got = len(p.GetInt32Data())
	}
	if got != n {
		return nil, fmt.Errorf("%d numbers for %v of shape %v: expected %d", got, typ, shape, n)
	}
	t := tensor.New(typ, shape...)
	b := t.Bytes
	for i := range n {
		switch typ {
		case tensor.Float32:
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(p.FloatData[i]))
		case tensor.Float64:
			binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(p.DoubleData[i]))
		case tensor.Int64:
			binary.LittleEndian.PutUint64(b[8*i:], uint64(p.Int64Data[i]))
		case tensor.Uint64:
			binary.LittleEndian.PutUint64(b[8*i:], p.Uint64Data[i])
		case tensor.Uint32:
			binary.LittleEndian.PutUint32(b[4*i:], uint32(p.Uint64Data[i]))
		case tensor.Complex64:
			binary.LittleEndian.PutUint32(b[8*i:], math.Float32bits(p.FloatData[2*i]))
			binary.LittleEndian.PutUint32(b[8*i+4:], math.Float32bits(p.FloatData[2*i+1]))
		case tensor.Complex128:
			binary.LittleEndian.PutUint64(b[16*i:], math.Float64bits(p.DoubleData[2*i]))
			binary.LittleEndian.PutUint64(b[16*i+8:], math.Float64bits(p.DoubleData[2*i+1]))
		default:
			putInt(b[i*typ.Size():], typ.Size(), uint32(p.Int32Data[i]))
		}
	}
	if typ == tensor.Bool {
		tensor.NormalizeBools(b)
	}
	return t, nil
}

// putInt writes the low bytes of v: lists of int32 also hold smaller types, and the bits of 16-bit floats.
func putInt(b []byte, size int, v uint32) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	default:
		binary.LittleEndian.PutUint32(b, v)
	}
}

// UnmarshalTensor reads a message with a single tensor and its name, such as the ONNX project's tests have.
func UnmarshalTensor(data []byte) (string, *tensor.Tensor, error) {
	p := &TensorProto{}
	if err := proto.Unmarshal(data, p); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	t, err := (&decoder{}).tensor(p)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return p.GetName(), t, nil
}
