package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/proto"
)

//go:generate go -C ../../distributed/wire/gen run . -in ../../../format/onnx/goestimator_onnx.proto -out ../../../format/onnx/goestimator_onnx.pb.go

// ErrTooLarge says that a model does not fit in one message, which protocol
// buffers limit to 2 GiB.
var ErrTooLarge = errors.New("the model is larger than 2 GiB, the limit of an ONNX file")

// types maps element types to those of the format.
var types = map[tensor.DType]TensorProto_DataType{
	tensor.Float32: TensorProto_FLOAT, tensor.Float64: TensorProto_DOUBLE, tensor.Float16: TensorProto_FLOAT16, tensor.BFloat16: TensorProto_BFLOAT16,
	tensor.Int8: TensorProto_INT8, tensor.Int16: TensorProto_INT16, tensor.Int32: TensorProto_INT32, tensor.Int64: TensorProto_INT64,
	tensor.Uint8: TensorProto_UINT8, tensor.Uint16: TensorProto_UINT16, tensor.Uint32: TensorProto_UINT32, tensor.Uint64: TensorProto_UINT64,
	tensor.Bool: TensorProto_BOOL, tensor.String: TensorProto_STRING, tensor.Complex64: TensorProto_COMPLEX64, tensor.Complex128: TensorProto_COMPLEX128,
}

// TypeNumber returns the number of an element type in the format.
func TypeNumber(d tensor.DType) (int, error) {
	if n, ok := types[d]; ok {
		return int(n), nil
	}
	return 0, fmt.Errorf("ONNX has no element type %v", d)
}

// Marshal returns the model's bytes; equal models give equal bytes.
func (m *Model) Marshal() ([]byte, error) {
	size := 0
	for _, i := range m.Graph.Initializers {
		if size += len(i.Tensor.Bytes); size > math.MaxInt32 {
			return nil, ErrTooLarge
		}
	}
	g, err := m.Graph.message()
	if err != nil {
		return nil, err
	}
	p := &ModelProto{
		IrVersion:    proto.Int64(int64(cmp.Or(m.IR, IRVersion))),
		ProducerName: &m.Producer,
		Graph:        g,
		OpsetImport:  opsetMessages(m.Opsets),
	}
	for _, f := range m.Functions {
		fn, err := f.message()
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", f.Name, err)
		}
		p.Functions = append(p.Functions, fn)
	}
	for _, k := range slices.Sorted(maps.Keys(m.Metadata)) {
		p.MetadataProps = append(p.MetadataProps, &StringStringEntryProto{Key: &k, Value: proto.String(m.Metadata[k])})
	}
	if proto.Size(p) > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	return proto.MarshalOptions{Deterministic: true, UseCachedSize: true}.Marshal(p)
}

func opsetMessages(versions map[string]int) (list []*OperatorSetIdProto) {
	if versions == nil {
		versions = map[string]int{"": Opset}
	}
	for _, d := range slices.Sorted(maps.Keys(versions)) {
		list = append(list, &OperatorSetIdProto{Domain: &d, Version: proto.Int64(int64(versions[d]))})
	}
	return list
}

func (f *Function) message() (*FunctionProto, error) {
	p := &FunctionProto{Name: &f.Name, Domain: &f.Domain, Input: f.Inputs, Output: f.Outputs, Attribute: f.Attrs, OpsetImport: opsetMessages(f.Opsets)}
	var err error
	if p.AttributeProto, err = attributeMessages(f.Defaults); err != nil {
		return nil, err
	}
	p.Node, err = nodeMessages(f.Nodes)
	return p, err
}

func nodeMessages(nodes []Node) (list []*NodeProto, err error) {
	for _, n := range nodes {
		p, err := n.message()
		if err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		list = append(list, p)
	}
	return list, nil
}

func (g *Graph) message() (*GraphProto, error) {
	p := &GraphProto{Name: &g.Name}
	var err error
	if p.Node, err = nodeMessages(g.Nodes); err != nil {
		return nil, err
	}
	for _, i := range g.Initializers {
		t, err := tensorMessage(i.Name, i.Tensor)
		if err != nil {
			return nil, fmt.Errorf("initializer %s: %w", i.Name, err)
		}
		p.Initializer = append(p.Initializer, t)
	}
	if p.Input, err = valueMessages(g.Inputs); err != nil {
		return nil, err
	}
	if p.ValueInfo, err = valueMessages(g.Known); err != nil {
		return nil, err
	}
	p.Output, err = valueMessages(g.Outputs)
	return p, err
}

func (n *Node) message() (*NodeProto, error) {
	p := &NodeProto{OpType: &n.Op, Name: &n.Name, Input: n.Inputs, Output: n.Outputs}
	if n.Domain != "" {
		p.Domain = &n.Domain
	}
	var err error
	p.Attribute, err = attributeMessages(n.Attrs)
	return p, err
}

func attributeMessages(attrs map[string]any) (list []*AttributeProto, err error) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a, err := attributeMessage(name, attrs[name])
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func attributeMessage(name string, v any) (*AttributeProto, error) {
	p := &AttributeProto{Name: &name}
	switch v := v.(type) {
	case float32:
		p.F, p.Type = &v, AttributeProto_FLOAT.Enum()
	case int:
		p.I, p.Type = proto.Int64(int64(v)), AttributeProto_INT.Enum()
	case string:
		p.S, p.Type = []byte(v), AttributeProto_STRING.Enum()
	case *tensor.Tensor:
		t, err := tensorMessage("", v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		p.T, p.Type = t, AttributeProto_TENSOR.Enum()
	case []int:
		p.Ints, p.Type = int64s(v), AttributeProto_INTS.Enum()
	case []float32:
		p.Floats, p.Type = v, AttributeProto_FLOATS.Enum()
	case []string:
		for _, s := range v {
			p.Strings = append(p.Strings, []byte(s))
		}
		p.Type = AttributeProto_STRINGS.Enum()
	case *Graph:
		g, err := v.message()
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		p.G, p.Type = g, AttributeProto_GRAPH.Enum()
	case AttrRef:
		p.RefAttrName = proto.String(string(v))
	default:
		return nil, fmt.Errorf("attribute %s: no form for a %T", name, v)
	}
	return p, nil
}

// tensorMessage returns a tensor's message with its raw bytes, which it shares, or its strings.
func tensorMessage(name string, t *tensor.Tensor) (*TensorProto, error) {
	kind, err := TypeNumber(t.DType)
	if err != nil {
		return nil, err
	}
	p := &TensorProto{Name: &name, Dims: int64s(t.Shape), DataType: proto.Int32(int32(kind))}
	if t.DType == tensor.String {
		p.StringData = t.Strings
		return p, nil
	}
	if p.RawData = t.Bytes; p.RawData == nil {
		p.RawData = []byte{} // nil would mean absent
	}
	return p, nil
}

func valueMessages(list []Value) ([]*ValueInfoProto, error) {
	var out []*ValueInfoProto
	for _, v := range list {
		kind, err := TypeNumber(v.DType)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", v.Name, err)
		}
		t := &TypeProto_Tensor{ElemType: proto.Int32(int32(kind))}
		if !v.Unranked {
			t.Shape = &TensorShapeProto{}
			for _, d := range v.Dims {
				t.Shape.Dim = append(t.Shape.Dim, d.message())
			}
		}
		out = append(out, &ValueInfoProto{Name: &v.Name, Type: &TypeProto{Value: &TypeProto_TensorType{TensorType: t}}})
	}
	return out, nil
}

func (d Dim) message() *TensorShapeProto_Dimension {
	switch {
	case d.Symbol != "":
		return &TensorShapeProto_Dimension{Value: &TensorShapeProto_Dimension_DimParam{DimParam: d.Symbol}}
	case d.Size >= 0:
		return &TensorShapeProto_Dimension{Value: &TensorShapeProto_Dimension_DimValue{DimValue: int64(d.Size)}}
	}
	return &TensorShapeProto_Dimension{}
}

func int64s(x []int) []int64 {
	out := make([]int64, len(x))
	for i, v := range x {
		out[i] = int64(v)
	}
	return out
}
