package openinference

import (
	"encoding/binary"
	"math"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxRank is the largest rank of a tensor, as in TensorFlow.
const maxRank = 254

// invalid is an error of the request.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// Input is a tensor as a request describes it.
type Input struct {
	Name     string
	Datatype string
	Shape    []int64
}

// Size returns the shape and its number of elements, which is at most most.
func (in Input) Size(most int) (shape []int, n int, err error) {
	if len(in.Shape) > maxRank {
		return nil, 0, invalid("input %q has %d dimensions, expected at most %d", short(in.Name), len(in.Shape), maxRank)
	}
	shape, n = make([]int, len(in.Shape)), 1
	empty := false
	for i, d := range in.Shape {
		if d < 0 || d > math.MaxInt {
			return nil, 0, invalid("input %q: shape %v: expected no negative size", short(in.Name), in.Shape)
		}
		empty = empty || d == 0
		shape[i] = int(d)
	}
	if empty {
		return shape, 0, nil
	}
	for _, d := range shape {
		if d > most/n {
			return nil, 0, invalid("input %q: shape %v has more elements than were sent", short(in.Name), in.Shape)
		}
		n *= d
	}
	return shape, n, nil
}

// Raw makes a tensor from its elements' bytes, little endian; each element of BYTES follows its length in four bytes. The account
// pays for the tensor, whose strings refer to raw.
func (in Input) Raw(raw []byte, a *budget.Account) (*tensor.Tensor, error) {
	d, err := DType(in.Datatype)
	if err != nil {
		return nil, err
	}
	width := max(d.Size(), 1)
	if d == tensor.String {
		width = 4
	}
	shape, n, err := in.Size(len(raw) / width)
	if err != nil {
		return nil, err
	}
	if d == tensor.String {
		return in.strings(raw, shape, n, a)
	}
	if len(raw) != n*width {
		return nil, in.wrongSize(len(raw), n*width)
	}
	if err := a.Reserve(len(raw)); err != nil {
		return nil, err
	}
	t := tensor.New(d, shape...)
	copy(t.Bytes, raw)
	if d == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t, nil
}

func (in Input) wrongSize(got, want int) error {
	return invalid("input %q: %d bytes for %s of shape %v, expected %d", short(in.Name), got, in.Datatype, in.Shape, want)
}

// stringHeader is the size of a []byte.
const stringHeader = 24

func (in Input) strings(raw []byte, shape []int, n int, a *budget.Account) (*tensor.Tensor, error) {
	if err := a.ReserveArray(n, stringHeader); err != nil {
		return nil, err
	}
	t := tensor.New(tensor.String, shape...)
	for i := range t.Strings {
		if len(raw) < 4 || uint64(len(raw)-4) < uint64(binary.LittleEndian.Uint32(raw)) {
			return nil, invalid("input %q: element %d of BYTES is cut off", short(in.Name), i)
		}
		end := 4 + int(binary.LittleEndian.Uint32(raw))
		t.Strings[i], raw = raw[4:end:end], raw[end:]
	}
	if len(raw) > 0 {
		return nil, invalid("input %q: %d bytes are left after %d elements of BYTES", short(in.Name), len(raw), n)
	}
	return t, nil
}

// Typed makes a tensor from the field of its datatype.
func (in Input) Typed(c *pb.InferTensorContents, a *budget.Account) (*tensor.Tensor, error) {
	d, err := DType(in.Datatype)
	if err != nil {
		return nil, err
	}
	make := contents[d]
	if make == nil {
		return nil, invalid("input %q: %s has no typed contents: expected raw_input_contents", short(in.Name), in.Datatype)
	}
	have, fill := make(c)
	shape, n, err := in.Size(have)
	if err != nil {
		return nil, err
	}
	if n != have {
		return nil, invalid("input %q: %d elements for %s of shape %v, expected %d", short(in.Name), have, in.Datatype, in.Shape, n)
	}
	width := d.Size()
	if d == tensor.String {
		width = stringHeader
	}
	if err := a.ReserveArray(n, width); err != nil {
		return nil, err
	}
	t := tensor.New(d, shape...)
	if !fill(t) {
		return nil, invalid("input %q: an element is beyond %s", short(in.Name), in.Datatype)
	}
	return t, nil
}

// contents returns, for each type, the number of typed elements and a function that fills a tensor with them; it returns false if
// one does not fit.
var contents = map[tensor.DType]func(*pb.InferTensorContents) (n int, fill func(*tensor.Tensor) bool){
	tensor.Bool:    same((*pb.InferTensorContents).GetBoolContents),
	tensor.Int8:    cut[int8]((*pb.InferTensorContents).GetIntContents),
	tensor.Int16:   cut[int16]((*pb.InferTensorContents).GetIntContents),
	tensor.Int32:   same((*pb.InferTensorContents).GetIntContents),
	tensor.Int64:   same((*pb.InferTensorContents).GetInt64Contents),
	tensor.Uint8:   cut[uint8]((*pb.InferTensorContents).GetUintContents),
	tensor.Uint16:  cut[uint16]((*pb.InferTensorContents).GetUintContents),
	tensor.Uint32:  same((*pb.InferTensorContents).GetUintContents),
	tensor.Uint64:  same((*pb.InferTensorContents).GetUint64Contents),
	tensor.Float32: same((*pb.InferTensorContents).GetFp32Contents),
	tensor.Float64: same((*pb.InferTensorContents).GetFp64Contents),
	tensor.String: func(c *pb.InferTensorContents) (int, func(*tensor.Tensor) bool) {
		return len(c.GetBytesContents()), func(t *tensor.Tensor) bool { return copy(t.Strings, c.GetBytesContents()) >= 0 }
	},
}

type filler = func(*pb.InferTensorContents) (int, func(*tensor.Tensor) bool)

func same[T tensor.Element](get func(*pb.InferTensorContents) []T) filler {
	return func(c *pb.InferTensorContents) (int, func(*tensor.Tensor) bool) {
		return len(get(c)), func(t *tensor.Tensor) bool { return copy(tensor.Values[T](t), get(c)) >= 0 }
	}
}

func cut[T int8 | int16 | uint8 | uint16, W int32 | uint32](get func(*pb.InferTensorContents) []W) filler {
	return func(c *pb.InferTensorContents) (int, func(*tensor.Tensor) bool) {
		return len(get(c)), func(t *tensor.Tensor) bool { return Narrow(tensor.Values[T](t), get(c)) }
	}
}

// Narrow copies integers to as many narrower ones; it returns false if one does not fit.
func Narrow[T int8 | int16 | uint8 | uint16, W int32 | uint32](to []T, from []W) bool {
	for i, v := range from {
		to[i] = T(v)
		if W(to[i]) != v {
			return false
		}
	}
	return true
}

// RawSize is the number of bytes that AppendRaw appends.
func RawSize(t *tensor.Tensor) int {
	n := len(t.Bytes)
	for _, s := range t.Strings {
		n += 4 + len(s)
	}
	return n
}

// AppendRaw appends the bytes of a tensor's elements, as Raw reads them.
func AppendRaw(b []byte, t *tensor.Tensor) []byte {
	if t.DType != tensor.String {
		return append(b, t.Bytes...)
	}
	for _, s := range t.Strings {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

// typed makes typed contents; nil for types that have none.
func typed(t *tensor.Tensor) *pb.InferTensorContents {
	switch t.DType {
	case tensor.Bool:
		return &pb.InferTensorContents{BoolContents: tensor.Values[bool](t)}
	case tensor.Int8:
		return &pb.InferTensorContents{IntContents: widened[int32](tensor.Values[int8](t))}
	case tensor.Int16:
		return &pb.InferTensorContents{IntContents: widened[int32](tensor.Values[int16](t))}
	case tensor.Int32:
		return &pb.InferTensorContents{IntContents: tensor.Values[int32](t)}
	case tensor.Int64:
		return &pb.InferTensorContents{Int64Contents: tensor.Values[int64](t)}
	case tensor.Uint8:
		return &pb.InferTensorContents{UintContents: widened[uint32](tensor.Values[uint8](t))}
	case tensor.Uint16:
		return &pb.InferTensorContents{UintContents: widened[uint32](tensor.Values[uint16](t))}
	case tensor.Uint32:
		return &pb.InferTensorContents{UintContents: tensor.Values[uint32](t)}
	case tensor.Uint64:
		return &pb.InferTensorContents{Uint64Contents: tensor.Values[uint64](t)}
	case tensor.Float32:
		return &pb.InferTensorContents{Fp32Contents: tensor.Values[float32](t)}
	case tensor.Float64:
		return &pb.InferTensorContents{Fp64Contents: tensor.Values[float64](t)}
	case tensor.String:
		return &pb.InferTensorContents{BytesContents: t.Strings}
	}
	return nil
}

func widened[W int32 | uint32, T int8 | int16 | uint8 | uint16](from []T) []W {
	to := make([]W, len(from))
	for i, v := range from {
		to[i] = W(v)
	}
	return to
}
