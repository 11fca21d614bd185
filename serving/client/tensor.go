package client

import (
	"fmt"
	"reflect"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
)

// Tensor is a tensor with its elements in one slice, row-major.
type Tensor struct {
	Shape  []int // empty: a scalar
	Values any   // []float32, []float64, []int8 to []int64, []uint8 to []uint64, []bool, or [][]byte for strings
}

// encode converts an input: a Tensor or *Tensor; a number, bool, string or []byte (one string of bytes); or slices of
// these, of equal lengths, nested as deep as the tensor has dimensions. Numbers are copied, since a cancelled call may
// still be sent after it has returned to the caller.
func encode(v any) (*tensor_go_proto.TensorProto, error) {
	t, err := tensorOf(v)
	if err != nil {
		return nil, err
	}
	return graphdef.ToTensorProto(t, false)
}

func tensorOf(v any) (*tensor.Tensor, error) {
	switch x := v.(type) {
	case *Tensor:
		if x == nil {
			return nil, fmt.Errorf("tensor is nil")
		}
		return owned(flat(x.Values, x.Shape))
	case Tensor:
		return owned(flat(x.Values, x.Shape))
	case []byte:
		return tensor.FromStrings([][]byte{x})
	case string:
		return tensor.FromStrings([][]byte{[]byte(x)})
	case []string:
		b := make([][]byte, len(x))
		for i, s := range x {
			b[i] = []byte(s)
		}
		return tensor.FromStrings(b, len(x))
	case [][]byte:
		return tensor.FromStrings(x, len(x))
	}
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return nil, fmt.Errorf("value is nil: expected numbers, bools or strings")
	}
	if r.Kind() == reflect.Slice && r.Type().Elem().Kind() != reflect.Slice && r.Type().Elem().Kind() != reflect.String {
		return owned(flat(v, []int{r.Len()}))
	}
	return nested(r)
}

func owned(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}

// flat makes a tensor from one slice of elements.
func flat(values any, shape []int) (*tensor.Tensor, error) {
	for _, d := range shape {
		if d < 0 {
			return nil, fmt.Errorf("shape %v has a negative dimension", shape)
		}
	}
	switch x := values.(type) {
	case []float32:
		return tensor.FromSlice(x, shape...)
	case []float64:
		return tensor.FromSlice(x, shape...)
	case []int8:
		return tensor.FromSlice(x, shape...)
	case []int16:
		return tensor.FromSlice(x, shape...)
	case []int32:
		return tensor.FromSlice(x, shape...)
	case []int64:
		return tensor.FromSlice(x, shape...)
	case []uint8:
		return tensor.FromSlice(x, shape...)
	case []uint16:
		return tensor.FromSlice(x, shape...)
	case []uint32:
		return tensor.FromSlice(x, shape...)
	case []uint64:
		return tensor.FromSlice(x, shape...)
	case []bool:
		return tensor.FromSlice(x, shape...)
	case [][]byte:
		return tensor.FromStrings(x, shape...)
	}
	return nil, fmt.Errorf("elements of type %T: expected a slice of float32, float64, int8 to int64, uint8 to uint64, bool or strings (an int has no size on the wire)", values)
}

var bytesType = reflect.TypeFor[[]byte]()

// nested flattens scalars and slices of slices.
func nested(v reflect.Value) (*tensor.Tensor, error) {
	elem := v.Type()
	rank := 0
	for elem.Kind() == reflect.Slice && elem != bytesType {
		elem, rank = elem.Elem(), rank+1
	}
	shape := make([]int, rank)
	for i, row := 0, v; i < rank; i++ {
		if shape[i] = row.Len(); shape[i] == 0 {
			break
		}
		row = row.Index(0)
	}
	store := elem
	if elem.Kind() == reflect.String {
		store = bytesType
	}
	all := reflect.MakeSlice(reflect.SliceOf(store), 0, tensor.NumElements(shape))
	if err := flatten(v, shape, &all); err != nil {
		return nil, err
	}
	return flat(all.Interface(), shape)
}

func flatten(v reflect.Value, shape []int, all *reflect.Value) error {
	if len(shape) == 0 {
		*all = reflect.Append(*all, v.Convert(all.Type().Elem()))
		return nil
	}
	if v.Len() != shape[0] {
		return fmt.Errorf("a row of %d values among rows of %d: expected equal lengths", v.Len(), shape[0])
	}
	for i := range v.Len() {
		if err := flatten(v.Index(i), shape[1:], all); err != nil {
			return err
		}
	}
	return nil
}

// decode converts an output. The result shares memory with p.
func decode(p *tensor_go_proto.TensorProto) (Tensor, error) {
	t, err := graphdef.ViewTensorProto(p, nil)
	if err != nil {
		return Tensor{}, err
	}
	out := Tensor{Shape: t.Shape}
	switch t.DType {
	case tensor.Float32:
		out.Values = tensor.Values[float32](t)
	case tensor.Float64:
		out.Values = tensor.Values[float64](t)
	case tensor.Int8:
		out.Values = tensor.Values[int8](t)
	case tensor.Int16:
		out.Values = tensor.Values[int16](t)
	case tensor.Int32:
		out.Values = tensor.Values[int32](t)
	case tensor.Int64:
		out.Values = tensor.Values[int64](t)
	case tensor.Uint8:
		out.Values = tensor.Values[uint8](t)
	case tensor.Uint16:
		out.Values = tensor.Values[uint16](t)
	case tensor.Uint32:
		out.Values = tensor.Values[uint32](t)
	case tensor.Uint64:
		out.Values = tensor.Values[uint64](t)
	case tensor.Bool:
		out.Values = tensor.Values[bool](t)
	case tensor.String:
		out.Values = t.Strings
	default:
		return Tensor{}, fmt.Errorf("an output of type %v: expected 32- or 64-bit floats, integers, bools or strings", t.DType)
	}
	return out, nil
}

// as fills dst, slices nested as deep as t's rank, from the elements.
func (t Tensor) as(dst reflect.Value) error {
	values := reflect.ValueOf(t.Values)
	if values.Kind() != reflect.Slice || values.Len() != tensor.NumElements(t.Shape) {
		return fmt.Errorf("it has no elements for its shape %v", t.Shape)
	}
	elem, rank := dst.Type(), 0
	for elem.Kind() == reflect.Slice && rank < len(t.Shape) {
		elem, rank = elem.Elem(), rank+1
	}
	have := values.Type().Elem()
	if rank != len(t.Shape) || have != elem && (have != bytesType || elem.Kind() != reflect.String) {
		return fmt.Errorf("it is of shape %v and elements %v, which is not a %v", t.Shape, have, dst.Type())
	}
	unflatten(dst, values, t.Shape)
	return nil
}

func unflatten(dst, values reflect.Value, shape []int) {
	if len(shape) == 0 {
		dst.Set(values.Index(0).Convert(dst.Type()))
		return
	}
	if len(shape) == 1 && dst.Type() == values.Type() {
		dst.Set(values)
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), shape[0], shape[0]))
	if shape[0] == 0 {
		return
	}
	k := values.Len() / shape[0]
	for i := range shape[0] {
		unflatten(dst.Index(i), values.Slice3(i*k, (i+1)*k, (i+1)*k), shape[1:])
	}
}
