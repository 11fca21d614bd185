package graphdef

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// errNewer refuses fields that this version of the format does not know.
var errNewer = errors.New("holds fields of a newer version of the format, which would be lost")

func known(m proto.Message) error {
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return errNewer
	}
	return nil
}

// attr converts a value; enc describes the encoding of a tensor, "" for the usual one.
func (r *reader) attr(a *attr_value_go_proto.AttrValue) (v any, enc string, err error) {
	if err := known(a); err != nil {
		return nil, "", err
	}
	switch x := a.GetValue().(type) {
	case nil:
		return nil, "", nil
	case *attr_value_go_proto.AttrValue_S:
		return append([]byte{}, x.S...), "", nil
	case *attr_value_go_proto.AttrValue_I:
		return x.I, "", nil
	case *attr_value_go_proto.AttrValue_F:
		return x.F, "", nil
	case *attr_value_go_proto.AttrValue_B:
		return x.B, "", nil
	case *attr_value_go_proto.AttrValue_Type:
		return tensor.DType(x.Type), "", nil
	case *attr_value_go_proto.AttrValue_Shape:
		s, err := readShape(x.Shape)
		return s, "", err
	case *attr_value_go_proto.AttrValue_Tensor:
		t, err := r.tensor(x.Tensor)
		if err != nil {
			return nil, "", err
		}
		return t, encodingOf(x.Tensor, t), nil
	case *attr_value_go_proto.AttrValue_Func:
		f, err := r.function(x.Func)
		return f, "", err
	case *attr_value_go_proto.AttrValue_Placeholder:
		return graph.PlaceholderAttr(x.Placeholder), "", nil
	case *attr_value_go_proto.AttrValue_List:
		v, err := r.list(x.List)
		return v, "", err
	}
	return nil, "", fmt.Errorf("value of kind %T: expected a kind of TensorFlow 2.18", a.GetValue())
}

func (r *reader) function(f *attr_value_go_proto.NameAttrList) (graph.Func, error) {
	out := graph.Func{Name: f.GetName()}
	if err := known(f); err != nil {
		return out, err
	}
	if len(f.GetAttr()) > 0 {
		out.Attrs = make(graph.Attrs, len(f.GetAttr()))
	}
	for name, a := range f.GetAttr() {
		v, _, err := r.attr(a)
		if err != nil {
			return out, fmt.Errorf("function %s, attribute %s: %w", f.GetName(), name, err)
		}
		out.Attrs[name] = v
	}
	return out, nil
}

// list converts a list, whose values must be of one kind.
func (r *reader) list(l *attr_value_go_proto.AttrValue_ListValue) (any, error) {
	if err := known(l); err != nil {
		return nil, err
	}
	kinds := 0
	for _, n := range []int{len(l.GetS()), len(l.GetI()), len(l.GetF()), len(l.GetB()), len(l.GetType()), len(l.GetShape()), len(l.GetTensor()), len(l.GetFunc())} {
		if n > 0 {
			kinds++
		}
	}
	if kinds > 1 {
		return nil, errors.New("list of several kinds: expected one")
	}
	switch {
	case len(l.GetS()) > 0:
		return convert(l.GetS(), func(s []byte) ([]byte, error) { return append([]byte{}, s...), nil })
	case len(l.GetI()) > 0:
		return append([]int64(nil), l.GetI()...), nil
	case len(l.GetF()) > 0:
		return append([]float32(nil), l.GetF()...), nil
	case len(l.GetB()) > 0:
		return append([]bool(nil), l.GetB()...), nil
	case len(l.GetType()) > 0:
		return convert(l.GetType(), func(t types_go_proto.DataType) (tensor.DType, error) { return tensor.DType(t), nil })
	case len(l.GetShape()) > 0:
		return convert(l.GetShape(), readShape)
	case len(l.GetTensor()) > 0:
		return convert(l.GetTensor(), r.tensor)
	case len(l.GetFunc()) > 0:
		return convert(l.GetFunc(), r.function)
	}
	return graph.EmptyList{}, nil
}

func convert[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, len(in))
	for i, x := range in {
		y, err := f(x)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = y
	}
	return out, nil
}

func readShape(s *tensor_shape_go_proto.TensorShapeProto) (graph.Shape, error) {
	if s == nil {
		return graph.Shape{}, errors.New("shape is missing")
	}
	if err := known(s); err != nil {
		return graph.Shape{}, fmt.Errorf("shape: %w", err)
	}
	if s.GetUnknownRank() {
		if len(s.GetDim()) > 0 {
			return graph.Shape{}, errors.New("shape of unknown rank with dimensions")
		}
		return graph.Shape{UnknownRank: true}, nil
	}
	out := graph.Shape{}
	for i, d := range s.GetDim() {
		if d.GetName() != "" || known(d) != nil {
			return graph.Shape{}, fmt.Errorf("dimension %d has a name, %q, which would be lost", i, d.GetName())
		}
		if d.GetSize() < -1 || int64(int(d.GetSize())) != d.GetSize() {
			return graph.Shape{}, fmt.Errorf("dimension %d is %d: expected >= -1", i, d.GetSize())
		}
		out.Dims = append(out.Dims, graph.Fixed(int(d.GetSize())))
	}
	return out, nil
}

// writeShape converts a shape; symbolic reports whether a dimension depends on the batch.
func writeShape(s graph.Shape) (p *tensor_shape_go_proto.TensorShapeProto, symbolic bool) {
	p = &tensor_shape_go_proto.TensorShapeProto{UnknownRank: s.UnknownRank}
	for _, d := range s.Dims {
		size := int64(d.Const)
		if d.PerBatch != 0 {
			size, symbolic = -1, true
		}
		p.Dim = append(p.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: size})
	}
	return p, symbolic
}

// writeAttr converts a value of graph.Attrs; enc is the encoding of a tensor.
func writeAttr(v any, enc string) (*attr_value_go_proto.AttrValue, error) {
	a := &attr_value_go_proto.AttrValue{}
	switch x := v.(type) {
	case nil:
	case []byte:
		a.Value = &attr_value_go_proto.AttrValue_S{S: x}
	case int64:
		a.Value = &attr_value_go_proto.AttrValue_I{I: x}
	case float32:
		a.Value = &attr_value_go_proto.AttrValue_F{F: x}
	case bool:
		a.Value = &attr_value_go_proto.AttrValue_B{B: x}
	case tensor.DType:
		a.Value = &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType(x)}
	case graph.Shape:
		s, _ := writeShape(x)
		a.Value = &attr_value_go_proto.AttrValue_Shape{Shape: s}
	case *tensor.Tensor:
		t, err := writeTensor(x, enc)
		if err != nil {
			return nil, err
		}
		a.Value = &attr_value_go_proto.AttrValue_Tensor{Tensor: t}
	case graph.Func:
		f, err := writeFunction(x)
		if err != nil {
			return nil, err
		}
		a.Value = &attr_value_go_proto.AttrValue_Func{Func: f}
	case graph.PlaceholderAttr:
		a.Value = &attr_value_go_proto.AttrValue_Placeholder{Placeholder: string(x)}
	default:
		l, err := writeList(v)
		if err != nil {
			return nil, err
		}
		a.Value = &attr_value_go_proto.AttrValue_List{List: l}
	}
	return a, nil
}

func writeList(v any) (*attr_value_go_proto.AttrValue_ListValue, error) {
	l := &attr_value_go_proto.AttrValue_ListValue{}
	var err error
	switch x := v.(type) {
	case graph.EmptyList:
	case [][]byte:
		l.S = x
	case []int64:
		l.I = x
	case []float32:
		l.F = x
	case []bool:
		l.B = x
	case []tensor.DType:
		l.Type, err = convert(x, func(d tensor.DType) (types_go_proto.DataType, error) { return types_go_proto.DataType(d), nil })
	case []graph.Shape:
		l.Shape, err = convert(x, func(s graph.Shape) (*tensor_shape_go_proto.TensorShapeProto, error) {
			p, _ := writeShape(s)
			return p, nil
		})
	case []*tensor.Tensor:
		l.Tensor, err = convert(x, func(t *tensor.Tensor) (*tensor_go_proto.TensorProto, error) { return writeTensor(t, "") })
	case []graph.Func:
		l.Func, err = convert(x, writeFunction)
	default:
		return nil, fmt.Errorf("value of Go type %T: expected a type that graph.Attrs documents", v)
	}
	return l, err
}

func writeFunction(f graph.Func) (*attr_value_go_proto.NameAttrList, error) {
	out := &attr_value_go_proto.NameAttrList{Name: f.Name}
	if len(f.Attrs) > 0 {
		out.Attr = make(map[string]*attr_value_go_proto.AttrValue, len(f.Attrs))
	}
	for name, v := range f.Attrs {
		a, err := writeAttr(v, "")
		if err != nil {
			return nil, fmt.Errorf("function %s, attribute %s: %w", f.Name, name, err)
		}
		out.Attr[name] = a
	}
	return out, nil
}
