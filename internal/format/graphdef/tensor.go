package graphdef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// maxExpanded bounds the bytes that the compressed tensors of one graph (one
// value for a whole shape) may expand to.
const maxExpanded = 256 << 20

// FromTensorProto converts a tensor in any encoding: raw content,
// typed values, or fewer values than elements, in which case the last value repeats.
func FromTensorProto(p *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
	r := reader{budget: maxExpanded}
	return r.tensor(p)
}

func (r *reader) tensor(p *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
	if p == nil {
		return nil, errors.New("tensor is missing")
	}
	d := tensor.DType(p.GetDtype())
	if d != tensor.String && d.Size() == 0 {
		return nil, fmt.Errorf("tensor of type %v: expected a numeric type, bool or string", p.GetDtype())
	}
	if err := errors.Join(known(p), oddFields(p)); err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	shape, err := tensorShape(p)
	if err != nil {
		return nil, err
	}
	size := d.Size()
	if d == tensor.String {
		size = stringHeader
	}
	n, ok := elements(shape, math.MaxInt/size)
	if !ok {
		return nil, fmt.Errorf("tensor of shape %v is too large", shape)
	}
	takes := n * size
	if d == tensor.String { // each string is copied, the last one as often as it repeats
		takes = repeatedSize(p.GetStringVal(), n)
	}
	if have := max(len(p.GetTensorContent()), proto.Size(p)); takes/16 > have {
		if r.budget -= min(takes, maxExpanded+1); r.budget < 0 {
			return nil, fmt.Errorf("tensor of shape %v: the graph's compressed tensors expand to more than %d bytes", shape, maxExpanded)
		}
	}
	if len(p.GetTensorContent()) > 0 {
		return fromContent(p.GetTensorContent(), d, shape, n)
	}
	t := tensor.New(d, shape...)
	return t, fromFields(t, p, n)
}

// oddFields refuses fields that would be lost.
func oddFields(p *tensor_go_proto.TensorProto) error {
	if p.GetVersionNumber() != 0 || len(p.GetResourceHandleVal()) > 0 || len(p.GetVariantVal()) > 0 {
		return errors.New("it holds a version number, resources or variants: expected numbers, booleans or strings")
	}
	return nil
}

func tensorShape(p *tensor_go_proto.TensorProto) ([]int, error) {
	if p.GetTensorShape() == nil {
		return nil, nil
	}
	s, err := readShape(p.GetTensorShape())
	if err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	if !s.Known() {
		return nil, fmt.Errorf("tensor of shape %v: expected known dimensions", s)
	}
	return s.At(0), nil
}

// elements multiplies dimensions. It returns false if the product exceeds limit.
func elements(shape []int, limit int) (int, bool) {
	n := 1
	for _, d := range shape {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range shape {
		if n > limit/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

func fromContent(content []byte, d tensor.DType, shape []int, n int) (*tensor.Tensor, error) {
	if d == tensor.String {
		return stringsOf(content, shape, n)
	}
	if len(content) != n*d.Size() {
		return nil, fmt.Errorf("tensor of %v%v with %d bytes of content: expected %d", d, shape, len(content), n*d.Size())
	}
	t := tensor.New(d, shape...)
	copy(t.Bytes, content)
	if !whole(t.Bytes, d) {
		return nil, fmt.Errorf("tensor of %v%v: expected bytes of 0 and 1 as content", d, shape)
	}
	return t, nil
}

// fields returns the number of typed values of p for type d, and a function that writes value i as little-endian bytes.
func fields(p *tensor_go_proto.TensorProto, d tensor.DType) (n int, put func(b []byte, i int)) {
	le := binary.LittleEndian
	switch d {
	case tensor.Float16, tensor.BFloat16:
		return len(p.GetHalfVal()), func(b []byte, i int) { le.PutUint16(b, uint16(p.GetHalfVal()[i])) }
	case tensor.Float32:
		return len(p.GetFloatVal()), func(b []byte, i int) { le.PutUint32(b, math.Float32bits(p.GetFloatVal()[i])) }
	case tensor.Float64:
		return len(p.GetDoubleVal()), func(b []byte, i int) { le.PutUint64(b, math.Float64bits(p.GetDoubleVal()[i])) }
	case tensor.Int32, tensor.QInt32:
		return len(p.GetIntVal()), func(b []byte, i int) { le.PutUint32(b, uint32(p.GetIntVal()[i])) }
	case tensor.Int16, tensor.Uint16, tensor.QInt16, tensor.QUint16:
		return len(p.GetIntVal()), func(b []byte, i int) { le.PutUint16(b, uint16(p.GetIntVal()[i])) }
	case tensor.Float8E5M2, tensor.Float8E4M3FN:
		return len(p.GetFloat8Val()), func(b []byte, i int) { b[0] = p.GetFloat8Val()[i] }
	case tensor.Int8, tensor.Uint8, tensor.QInt8, tensor.QUint8, tensor.Int4, tensor.Uint4:
		return len(p.GetIntVal()), func(b []byte, i int) { b[0] = byte(p.GetIntVal()[i]) }
	case tensor.Int64:
		return len(p.GetInt64Val()), func(b []byte, i int) { le.PutUint64(b, uint64(p.GetInt64Val()[i])) }
	case tensor.Uint32:
		return len(p.GetUint32Val()), func(b []byte, i int) { le.PutUint32(b, p.GetUint32Val()[i]) }
	case tensor.Uint64:
		return len(p.GetUint64Val()), func(b []byte, i int) { le.PutUint64(b, p.GetUint64Val()[i]) }
	case tensor.Bool:
		return len(p.GetBoolVal()), func(b []byte, i int) {
			if b[0] = 0; p.GetBoolVal()[i] {
				b[0] = 1
			}
		}
	case tensor.Complex64:
		return len(p.GetScomplexVal()) / 2, func(b []byte, i int) {
			le.PutUint32(b, math.Float32bits(p.GetScomplexVal()[2*i]))
			le.PutUint32(b[4:], math.Float32bits(p.GetScomplexVal()[2*i+1]))
		}
	case tensor.Complex128:
		return len(p.GetDcomplexVal()) / 2, func(b []byte, i int) {
			le.PutUint64(b, math.Float64bits(p.GetDcomplexVal()[2*i]))
			le.PutUint64(b[8:], math.Float64bits(p.GetDcomplexVal()[2*i+1]))
		}
	}
	return 0, nil
}

// NumValues returns the number of typed values of a tensor.
func NumValues(p *tensor_go_proto.TensorProto) int {
	if d := tensor.DType(p.GetDtype()); d != tensor.String {
		n, _ := fields(p, d)
		return n
	}
	return len(p.GetStringVal())
}

func fromFields(t *tensor.Tensor, p *tensor_go_proto.TensorProto, n int) error {
	if t.DType == tensor.String {
		if len(p.GetStringVal()) > n {
			return fmt.Errorf("string tensor of %d elements with %d values", n, len(p.GetStringVal()))
		}
		for i := range t.Strings {
			t.Strings[i] = []byte{}
			if vals := p.GetStringVal(); len(vals) > 0 {
				t.Strings[i] = append(t.Strings[i], vals[min(i, len(vals)-1)]...)
			}
		}
		return nil
	}
	have, put := fields(p, t.DType)
	if have > n {
		return fmt.Errorf("tensor of %d elements with %d values", n, have)
	}
	size := t.DType.Size()
	for i := range have {
		put(t.Bytes[i*size:], i)
	}
	if have == 0 {
		return nil
	}
	last := t.Bytes[(have-1)*size : have*size]
	for i := have; i < n; i++ {
		copy(t.Bytes[i*size:], last)
	}
	return nil
}

// stringsOf reads the content of a string tensor: the lengths of all strings, then their bytes.
func stringsOf(content []byte, shape []int, n int) (*tensor.Tensor, error) {
	bad := func(why string) (*tensor.Tensor, error) {
		return nil, fmt.Errorf("tensor of %v%v with %d bytes of content: %s", tensor.String, shape, len(content), why)
	}
	if n > len(content) {
		return bad("expected a length for each string")
	}
	lengths, rest := make([]int, n), content
	for i := range lengths {
		size, k := binary.Uvarint(rest)
		if k <= 0 || size > uint64(len(content)) {
			return bad("a length is not within the content")
		}
		lengths[i], rest = int(size), rest[k:]
	}
	t := tensor.New(tensor.String, shape...)
	for i, size := range lengths {
		if size > len(rest) {
			return bad("it ends within a string")
		}
		t.Strings[i], rest = slices.Clone(rest[:size]), rest[size:]
	}
	if len(rest) > 0 {
		return bad("more than the strings take")
	}
	return t, nil
}

// An encoding is "content", or "field" and the number of values written; then " bare" if the shape is left out.

// encodingOf describes how p encodes t, "" if writeTensor would encode it the same way by default.
func encodingOf(p *tensor_go_proto.TensorProto, t *tensor.Tensor) string {
	if q, err := writeTensor(t, ""); err == nil && proto.Equal(p, q) {
		return ""
	}
	enc := "field " + strconv.Itoa(NumValues(p))
	if len(p.GetTensorContent()) > 0 && t.DType != tensor.String {
		enc = "content"
	}
	if p.GetTensorShape() == nil {
		enc += " bare"
	}
	return enc
}

// writeTensor converts a tensor. If enc is "", a single element becomes one value,
// strings become values, everything else raw content.
func writeTensor(t *tensor.Tensor, enc string) (*tensor_go_proto.TensorProto, error) {
	if t == nil {
		return nil, errors.New("tensor is nil")
	}
	n, size := t.Len(), t.DType.Size()
	if t.DType == tensor.String && len(t.Strings) != n || t.DType != tensor.String && (size == 0 || len(t.Bytes) != n*size) {
		return nil, fmt.Errorf("tensor of %v%v with %d bytes and %d strings", t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	p := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType(t.DType)}
	enc, bare := strings.CutSuffix(enc, " bare")
	if !bare || len(t.Shape) > 0 {
		p.TensorShape, _ = writeShape(graph.ShapeOf(t.Shape...))
	}
	values := n
	if count, ok := strings.CutPrefix(enc, "field "); ok {
		if k, err := strconv.Atoi(count); err == nil && repeats(t, k) {
			values = k
		}
	} else if t.DType != tensor.String && (n != 1 || enc == "content") {
		p.TensorContent = append([]byte(nil), t.Bytes...)
		return p, nil
	}
	toFields(p, t, values)
	return p, nil
}

// repeats reports whether the elements after the first k all equal the last of
// these, or zero if k is 0.
func repeats(t *tensor.Tensor, k int) bool {
	n, size := t.Len(), t.DType.Size()
	if k < 0 || k > n {
		return false
	}
	for i := k; i < n; i++ {
		if t.DType == tensor.String {
			if last := t.Strings[max(k-1, 0)]; string(t.Strings[i]) != string(last) || k == 0 && len(last) > 0 {
				return false
			}
			continue
		}
		last := make([]byte, size)
		if k > 0 {
			last = t.Bytes[(k-1)*size : k*size]
		}
		if string(t.Bytes[i*size:(i+1)*size]) != string(last) {
			return false
		}
	}
	return true
}

// toFields writes the first n elements as typed values.
func toFields(p *tensor_go_proto.TensorProto, t *tensor.Tensor, n int) {
	le := binary.LittleEndian
	size := t.DType.Size()
	switch t.DType {
	case tensor.Float16, tensor.BFloat16:
		p.HalfVal = slices.Grow(p.HalfVal, n)
	case tensor.Int16, tensor.Uint16, tensor.Int8, tensor.Uint8:
		p.IntVal = slices.Grow(p.IntVal, n)
	case tensor.Complex64:
		p.ScomplexVal = slices.Grow(p.ScomplexVal, 2*n)
	case tensor.Complex128:
		p.DcomplexVal = slices.Grow(p.DcomplexVal, 2*n)
	}
	for i := range n {
		if t.DType == tensor.String {
			p.StringVal = append(p.StringVal, t.Strings[i])
			continue
		}
		b := t.Bytes[i*size:]
		switch t.DType {
		case tensor.Float16, tensor.BFloat16:
			p.HalfVal = append(p.HalfVal, int32(le.Uint16(b)))
		case tensor.Float32:
			p.FloatVal = append(p.FloatVal, math.Float32frombits(le.Uint32(b)))
		case tensor.Float64:
			p.DoubleVal = append(p.DoubleVal, math.Float64frombits(le.Uint64(b)))
		case tensor.Int32, tensor.QInt32:
			p.IntVal = append(p.IntVal, int32(le.Uint32(b)))
		case tensor.Int16, tensor.QInt16:
			p.IntVal = append(p.IntVal, int32(int16(le.Uint16(b))))
		case tensor.Uint16, tensor.QUint16:
			p.IntVal = append(p.IntVal, int32(le.Uint16(b)))
		case tensor.Float8E5M2, tensor.Float8E4M3FN:
			p.Float8Val = append(p.Float8Val, b[0])
		case tensor.Int8, tensor.QInt8, tensor.Int4:
			p.IntVal = append(p.IntVal, int32(int8(b[0])))
		case tensor.Uint8, tensor.QUint8, tensor.Uint4:
			p.IntVal = append(p.IntVal, int32(b[0]))
		case tensor.Int64:
			p.Int64Val = append(p.Int64Val, int64(le.Uint64(b)))
		case tensor.Uint32:
			p.Uint32Val = append(p.Uint32Val, le.Uint32(b))
		case tensor.Uint64:
			p.Uint64Val = append(p.Uint64Val, le.Uint64(b))
		case tensor.Bool:
			p.BoolVal = append(p.BoolVal, b[0] != 0)
		case tensor.Complex64:
			p.ScomplexVal = append(p.ScomplexVal, math.Float32frombits(le.Uint32(b)), math.Float32frombits(le.Uint32(b[4:])))
		case tensor.Complex128:
			p.DcomplexVal = append(p.DcomplexVal, math.Float64frombits(le.Uint64(b)), math.Float64frombits(le.Uint64(b[8:])))
		}
	}
}
