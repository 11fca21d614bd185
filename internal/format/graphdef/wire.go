package graphdef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// maxRank is TensorFlow's limit on the dimensions of a tensor.
const maxRank = 254

// ViewTensorProto returns a tensor that shares p's memory if p has the elements in a tensor's layout, else a copy, for
// which the account pays. p must not change while the tensor is in use. Like TensorFlow's runtime for a request, it reads
// raw content or typed values. If there are too few values, the last one repeats; no values are zeros, and surplus ones are left out.
// Unlike FromTensorProto, it ignores names of dimensions and unknown fields, since nothing is written back.
func ViewTensorProto(p *tensor_go_proto.TensorProto, a *budget.Account) (*tensor.Tensor, error) {
	d := tensor.DType(p.GetDtype())
	size := d.Size()
	if d == tensor.String {
		size = stringHeader
	}
	if size == 0 {
		return nil, fmt.Errorf("tensor of type %v: expected a numeric type, bool or string", p.GetDtype())
	}
	shape, err := wireShape(p.GetTensorShape())
	if err != nil {
		return nil, err
	}
	n, ok := elements(shape, math.MaxInt/size)
	if !ok {
		return nil, fmt.Errorf("tensor of shape %v is too large", shape)
	}
	t := &tensor.Tensor{DType: d, Shape: shape}
	w := view{p: p, n: n, account: a}
	if d == tensor.String {
		t.Strings, err = w.strings()
		return t, err
	}
	t.Bytes, err = w.bytes(d)
	return t, err
}

// stringHeader is the size of a []byte.
const stringHeader = 24

// view is a tensor of n elements being read.
type view struct {
	p       *tensor_go_proto.TensorProto
	n       int
	account *budget.Account
}

func wireShape(s *tensor_shape_go_proto.TensorShapeProto) ([]int, error) {
	if s.GetUnknownRank() || len(s.GetDim()) > maxRank {
		return nil, fmt.Errorf("tensor of unknown rank or more than %d dimensions", maxRank)
	}
	if len(s.GetDim()) == 0 {
		return nil, nil
	}
	shape := make([]int, len(s.GetDim()))
	for i, d := range s.GetDim() {
		if d.GetSize() < 0 || int64(int(d.GetSize())) != d.GetSize() {
			return nil, fmt.Errorf("dimension %d of a tensor is %d: expected >= 0", i, d.GetSize())
		}
		shape[i] = int(d.GetSize())
	}
	return shape, nil
}

// maxViewed bounds the bytes of a tensor in a request that has fewer values than elements: a hundred bytes
// may ask for it, many times at once.
const maxViewed = budget.Expansion

// ErrExpands says that a few values stand for a tensor that is too large.
var ErrExpands = errors.New("the tensor is too large")

// expand reserves the memory of a few values that stand for many. A string counts as often as it repeats, even though
// it is stored once, because it will be copied or written that often.
func (w view) expand(bytes int) error {
	if bytes > maxViewed {
		return fmt.Errorf("%w: %d elements given by fewer values take %d bytes, and may take %d", ErrExpands, w.n, bytes, maxViewed)
	}
	w.account.AllowExpansion()
	return w.account.Reserve(bytes)
}

func (w view) strings() ([][]byte, error) {
	if len(w.p.GetTensorContent()) > 0 {
		return w.stringContent()
	}
	vals := w.p.GetStringVal()
	if len(vals) >= w.n {
		return vals[:w.n:w.n], nil
	}
	size := repeatedSize(vals, w.n)
	if err := w.expand(size); err != nil {
		return nil, err
	}
	out := make([][]byte, w.n)
	for i := range out {
		if len(vals) > 0 {
			out[i] = vals[min(i, len(vals)-1)]
		}
	}
	return out, nil
}

// repeatedSize is the size of n strings if the last of vals repeats, at most math.MaxInt.
func repeatedSize(vals [][]byte, n int) int {
	size, last := 0, 0
	for _, v := range vals {
		last = len(v)
		size += last
	}
	each := stringHeader + last
	if more := n - len(vals); more > (math.MaxInt-size-n*stringHeader)/each {
		return math.MaxInt
	}
	return size + len(vals)*stringHeader + (n-len(vals))*each
}

// stringContent reads TensorFlow's raw form of strings: all lengths as varints, then all bytes.
func (w view) stringContent() ([][]byte, error) {
	content := w.p.GetTensorContent()
	bad := fmt.Errorf("%d bytes of content are not %d strings", len(content), w.n)
	if w.n > len(content) {
		return nil, bad
	}
	rest, total := content, 0
	for range w.n {
		v, k := binary.Uvarint(rest)
		if k <= 0 || v > uint64(len(content)) {
			return nil, bad
		}
		rest, total = rest[k:], total+int(v)
	}
	if total != len(rest) {
		return nil, bad
	}
	if err := w.account.ReserveArray(w.n, stringHeader); err != nil {
		return nil, err
	}
	out := make([][]byte, w.n)
	for i := range out {
		v, k := binary.Uvarint(content)
		content = content[k:]
		out[i], rest = rest[:v:v], rest[v:]
	}
	return out, nil
}

func (w view) bytes(d tensor.DType) ([]byte, error) {
	size := d.Size()
	if content := w.p.GetTensorContent(); len(content) > 0 {
		if len(content) != w.n*size {
			return nil, fmt.Errorf("tensor of %d %v with %d bytes of content: expected %d", w.n, d, len(content), w.n*size)
		}
		if whole(content, d) {
			return content, nil
		}
		err := w.account.Reserve(len(content))
		if err != nil {
			return nil, err
		}
		return usable(content, d), nil
	}
	if b := sameLayout(w.p, d); len(b) >= w.n*size {
		return b[: w.n*size : w.n*size], nil
	}
	have, put := fields(w.p, d)
	take := w.account.Reserve
	if have < w.n {
		take = w.expand
	}
	if err := take(w.n * size); err != nil {
		return nil, err
	}
	b := tensor.New(d, w.n).Bytes
	have = min(have, w.n)
	for i := range have {
		put(b[i*size:], i)
	}
	if have > 0 {
		repeat(b[(have-1)*size:], size)
	}
	return b, nil
}

// repeat fills b with its first size bytes.
func repeat(b []byte, size int) {
	for done := size; done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}

// whole reports whether content can be a tensor's memory: it is aligned, and booleans are 0 or 1.
func whole(content []byte, d tensor.DType) bool {
	if d != tensor.Bool {
		return uintptr(unsafe.Pointer(unsafe.SliceData(content)))%8 == 0
	}
	for _, b := range content {
		if b > 1 {
			return false
		}
	}
	return true
}

// usable returns content, or a copy if it cannot be a tensor's memory.
func usable(content []byte, d tensor.DType) []byte {
	if whole(content, d) {
		return content
	}
	t := tensor.New(d, len(content)/d.Size())
	copy(t.Bytes, content)
	if d == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t.Bytes
}

// sameLayout returns the typed values of p as bytes, nil if a tensor of type d has another layout.
func sameLayout(p *tensor_go_proto.TensorProto, d tensor.DType) []byte {
	switch d {
	case tensor.Float32:
		return bytesOf(p.GetFloatVal())
	case tensor.Float64:
		return bytesOf(p.GetDoubleVal())
	case tensor.Int32:
		return bytesOf(p.GetIntVal())
	case tensor.Int64:
		return bytesOf(p.GetInt64Val())
	case tensor.Uint32:
		return bytesOf(p.GetUint32Val())
	case tensor.Uint64:
		return bytesOf(p.GetUint64Val())
	case tensor.Bool:
		return bytesOf(p.GetBoolVal())
	}
	return nil
}

func bytesOf[T tensor.Element](v []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(z)))
}

// ToTensorProto converts a tensor to typed values, or to raw content if content is set and it does not hold strings.
// The result shares t's memory if the layouts agree. It fails if t's elements do not fit its type and shape.
func ToTensorProto(t *tensor.Tensor, content bool) (*tensor_go_proto.TensorProto, error) {
	if t == nil {
		return nil, fmt.Errorf("tensor is nil")
	}
	n, ok := elements(t.Shape, math.MaxInt)
	if !ok || t.DType == tensor.String && len(t.Strings) != n || t.DType != tensor.String && (t.DType.Size() == 0 || len(t.Bytes) != n*t.DType.Size()) {
		return nil, fmt.Errorf("tensor of %v%v with %d bytes and %d strings", t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	p := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType(t.DType), TensorShape: protoShape(t.Shape)}
	if content && t.DType != tensor.String {
		p.TensorContent = t.Bytes
		return p, nil
	}
	switch t.DType {
	case tensor.String:
		p.StringVal = t.Strings
	case tensor.Float32:
		p.FloatVal = aligned[float32](t)
	case tensor.Float64:
		p.DoubleVal = aligned[float64](t)
	case tensor.Int32:
		p.IntVal = aligned[int32](t)
	case tensor.Int64:
		p.Int64Val = aligned[int64](t)
	case tensor.Uint32:
		p.Uint32Val = aligned[uint32](t)
	case tensor.Uint64:
		p.Uint64Val = aligned[uint64](t)
	case tensor.Bool:
		p.BoolVal = aligned[bool](t)
	default:
		toFields(p, t, n)
	}
	return p, nil
}

// ProtoSize returns the bytes that ToTensorProto allocates for values of t that it does not share.
func ProtoSize(t *tensor.Tensor, content bool) int {
	if t == nil || content {
		return 0
	}
	switch t.DType {
	case tensor.Int8, tensor.Uint8, tensor.QInt8, tensor.QUint8, tensor.Int4, tensor.Uint4:
		return 4 * len(t.Bytes)
	case tensor.Float16, tensor.BFloat16, tensor.Int16, tensor.Uint16, tensor.QInt16, tensor.QUint16:
		return 2 * len(t.Bytes)
	case tensor.Complex64, tensor.Complex128:
		return len(t.Bytes)
	case tensor.String:
		return 0
	}
	if whole(t.Bytes, t.DType) {
		return 0
	}
	return len(t.Bytes)
}

// aligned is tensor.Values, of a copy if t's memory is not suitably aligned.
func aligned[T tensor.Element](t *tensor.Tensor) []T {
	if b := usable(t.Bytes, t.DType); len(b) > 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), t.Len())
	}
	return nil
}

func protoShape(shape []int) *tensor_shape_go_proto.TensorShapeProto {
	p := &tensor_shape_go_proto.TensorShapeProto{}
	if len(shape) == 0 {
		return p
	}
	dims := make([]tensor_shape_go_proto.TensorShapeProto_Dim, len(shape))
	p.Dim = make([]*tensor_shape_go_proto.TensorShapeProto_Dim, len(shape))
	for i, d := range shape {
		dims[i].Size = int64(d)
		p.Dim[i] = &dims[i]
	}
	return p
}
