package eager

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"github.com/goestimator/goestimator/tensor"
)

// listType is TensorFlow's type name for a list of tensors that is sent between tasks.
const listType = "tensorflow::TensorList"

// EncodeVariant returns a list of tensors as a variant tensor, in TensorFlow's format (core/kernels/tensor_list.cc). Other values
// that are not tensors cannot leave their task: the error is [ErrUnsupported].
func (p Payer) EncodeVariant(v Value) (*tensor.Tensor, error) {
	l, ok := v.Resource.(*tensorList)
	if !ok {
		return nil, fmt.Errorf("a value of type %T to another task: %w", v.Resource, ErrUnsupported)
	}
	return p.Make(encodedSize(v), func() (*tensor.Tensor, error) {
		m, err := l.message()
		if err != nil {
			return nil, err
		}
		b, err := proto.Marshal(m)
		return &tensor.Tensor{DType: tensor.Variant, Shape: []int{}, Strings: [][]byte{b}}, err
	})
}

// message returns a list as a message. Its metadata has the number of unset elements and their
// indices, the element type, the maximum number of elements, and the elements' shape.
func (l *tensorList) message() (*tensor_go_proto.VariantTensorDataProto, error) {
	m := &tensor_go_proto.VariantTensorDataProto{TypeName: listType}
	var unset []uint64
	for i, v := range l.elements() {
		p, err := encodedElement(v)
		switch {
		case err != nil:
			return nil, fmt.Errorf("element %d of a list: %w", i, err)
		case p == nil:
			unset = append(unset, uint64(i))
		default:
			m.Tensors = append(m.Tensors, p)
		}
	}
	shape, err := proto.Marshal(graphdef.ToShapeProto(l.shape))
	if err != nil {
		return nil, err
	}
	m.Metadata = binary.AppendUvarint(nil, uint64(len(unset)))
	for _, n := range append(unset, uint64(l.dtype), uint64(l.most)) {
		m.Metadata = binary.AppendUvarint(m.Metadata, n)
	}
	m.Metadata = append(m.Metadata, shape...)
	return m, nil
}

// encodedSize is roughly the memory of an element as a message and encoded, together.
func encodedSize(v Value) (n int) {
	if l, ok := v.Resource.(*tensorList); ok {
		n = 2*tensorHeader + (listHeader+binary.MaxVarintLen64)*l.n
		for _, e := range l.elements() {
			n += encodedSize(e)
		}
		return n
	}
	if v.T == nil {
		return 0
	}
	switch n = 2 * sizeOf(v.T); v.T.DType {
	case tensor.String, tensor.Bool, tensor.Float32, tensor.Float64, tensor.Complex64, tensor.Complex128:
		return n
	}
	return n + graphdef.ProtoSize(v.T, false) + binary.MaxVarintLen64*v.T.Len()
}

// encodedElement returns nil for an unset element.
func encodedElement(v Value) (*tensor_go_proto.TensorProto, error) {
	switch r := v.Resource.(type) {
	case *tensorList:
		m, err := r.message()
		return &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_VARIANT, TensorShape: graphdef.ToShapeProto([]int{}), VariantVal: []*tensor_go_proto.VariantTensorDataProto{m}}, err
	case nil:
		if v.T == nil {
			return nil, nil
		}
		return graphdef.ToTensorProto(v.T, false)
	}
	return nil, fmt.Errorf("a value of type %T to another task: %w", v.Resource, ErrUnsupported)
}

// DecodeVariant returns the list of tensors that a scalar variant tensor holds.
func (p Payer) DecodeVariant(t *tensor.Tensor) (Value, error) { return p.decodeVariant(t, 0) }

func (p Payer) decodeVariant(t *tensor.Tensor, within int) (Value, error) {
	if t.DType != tensor.Variant || len(t.Strings) != 1 {
		return Value{}, fmt.Errorf("expected one variant, got a tensor of %v%v", t.DType, t.Shape)
	}
	m := &tensor_go_proto.VariantTensorDataProto{}
	cost := 2 * protocost.Of(mem.BufferSlice{mem.SliceBuffer(t.Strings[0])}, m, 0) // values are decoded into at most as much memory again
	if err := p.Account.ReserveModel(cost); err != nil {
		return Value{}, err
	}
	if err := proto.Unmarshal(t.Strings[0], m); err != nil {
		p.Account.ReleaseModel(cost)
		return Value{}, fmt.Errorf("variant: %w", err)
	}
	unset := placesOf(m.GetMetadata())
	if err := p.Account.ReserveModel(unset); err != nil {
		p.Account.ReleaseModel(cost)
		return Value{}, err
	}
	cost += unset
	l, err := p.listOf(m, within)
	if err != nil {
		p.Account.ReleaseModel(cost)
		return Value{}, fmt.Errorf("variant: %w", err)
	}
	if p.Lasting {
		budget.Lend(p.Account, l, cost)
	}
	return Value{Resource: l}, nil
}

// placesOf returns the memory of the unset elements and their indices: each may take a single byte of metadata.
func placesOf(metadata []byte) int {
	count, _ := binary.Uvarint(metadata)
	return int(min(count, uint64(len(metadata)))) * (8 + listHeader)
}

// listOf returns the list in a message; within is the number of lists around it.
func (p Payer) listOf(m *tensor_go_proto.VariantTensorDataProto, within int) (*tensorList, error) {
	if m.GetTypeName() != listType {
		return nil, fmt.Errorf("%q %w: expected %q", clip([]byte(m.GetTypeName())), ErrUnsupported, listType)
	}
	if err := tooDeep(within + 1); err != nil {
		return nil, err
	}
	l, unset, err := listMetadata(m.GetMetadata())
	if err != nil {
		return nil, err
	}
	l.n = len(unset) + len(m.GetTensors())
	l.all, l.depth, l.mu, l.bytes = make([]Value, l.n), 1, new(sync.Mutex), l.n*listHeader
	rest := m.GetTensors()
	for i := range l.all {
		if len(unset) > 0 && unset[0] == i {
			unset = unset[1:]
			continue
		}
		if len(rest) == 0 {
			break
		}
		v, err := p.listElement(rest[0], within+1)
		if err == nil {
			err = l.fits(v)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d of a list: %w", i, err)
		}
		l.all[i], l.depth, l.bytes, rest = v, max(l.depth, 1+depth(v)), l.bytes+weight(v), rest[1:]
	}
	if len(unset) > 0 {
		return nil, fmt.Errorf("a list of %d elements, where element %d was not set", l.n, unset[0])
	}
	return l, nil
}

// listElement reads an element. It shares the memory of its message if possible.
func (p Payer) listElement(e *tensor_go_proto.TensorProto, within int) (Value, error) {
	if tensor.DType(e.GetDtype()) != tensor.Variant {
		if err := complete(e); err != nil {
			return Value{}, err
		}
		t, err := graphdef.ViewTensorProto(e, nil)
		return Value{T: t}, err
	}
	t, err := graphdef.ViewVariantProto(e, nil)
	if err != nil {
		return Value{}, err
	}
	if len(t.Strings) != 1 {
		return Value{}, fmt.Errorf("a tensor of %d variants in a list %w", len(t.Strings), ErrUnsupported)
	}
	return p.decodeVariant(t, within)
}

// complete fails for a tensor with fewer values than elements, whose last value would be repeated. Nobody sends such elements.
func complete(e *tensor_go_proto.TensorProto) error {
	most, n := graphdef.NumValues(e)+len(e.GetTensorContent()), 1
	for _, d := range e.GetTensorShape().GetDim() {
		if d.GetSize() <= 0 {
			return nil // empty, or refused when it is read
		}
		if d.GetSize() > int64(most/n) { // content has at least one byte per element
			return fmt.Errorf("%w: a tensor with more elements than its message has, %d", ErrLimit, most)
		}
		n *= int(d.GetSize())
	}
	return nil
}

// listMetadata reads the properties of a list in a message, and the indices of unset elements, in ascending order.
func listMetadata(b []byte) (l *tensorList, unset []int, err error) {
	next := func() (n uint64) {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			err = fmt.Errorf("metadata of a list: a number is missing")
			return 0
		}
		b = b[k:]
		return n
	}
	count := next()
	if count > uint64(len(b)) {
		return nil, nil, fmt.Errorf("metadata of a list: %d elements that were not set, in %d bytes", count, len(b))
	}
	for range count {
		i := next()
		if i >= 1<<31 || len(unset) > 0 && int(i) <= unset[len(unset)-1] {
			return nil, nil, fmt.Errorf("metadata of a list: the indices of elements that were not set do not ascend")
		}
		unset = append(unset, int(i))
	}
	dtype, most := tensor.DType(next()), int(next())
	if err != nil {
		return nil, nil, err
	}
	if known := []tensor.DType{tensor.String, tensor.Variant}; dtype.Size() == 0 && !slices.Contains(known, dtype) {
		return nil, nil, fmt.Errorf("lists of type %v %w", dtype, ErrUnsupported)
	}
	var p tensor_shape_go_proto.TensorShapeProto
	if err := proto.Unmarshal(b, &p); err != nil {
		return nil, nil, fmt.Errorf("shape of a list's elements: %w", err)
	}
	l = &tensorList{dtype: dtype, most: max(most, -1)}
	if !p.GetUnknownRank() {
		l.shape = []int{}
		for _, d := range p.GetDim() {
			l.shape = append(l.shape, int(max(d.GetSize(), -1)))
		}
	}
	return l, unset, nil
}
