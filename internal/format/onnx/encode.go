package onnx

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// ErrTooLarge tells that a model does not fit into one message, which protocol
// buffers limit to 2 GiB.
var ErrTooLarge = errors.New("the model is larger than 2 GiB, the limit of an ONNX file")

// types are TensorProto.DataType's numbers.
var types = map[tensor.DType]uint64{
	tensor.Float32: 1, tensor.Uint8: 2, tensor.Int8: 3, tensor.Uint16: 4, tensor.Int16: 5, tensor.Int32: 6, tensor.Int64: 7, tensor.String: 8,
	tensor.Bool: 9, tensor.Float16: 10, tensor.Float64: 11, tensor.Uint32: 12, tensor.Uint64: 13, tensor.BFloat16: 16,
}

// TypeNumber returns the number of an element type in the format.
func TypeNumber(d tensor.DType) (int, error) {
	if n, ok := types[d]; ok {
		return int(n), nil
	}
	return 0, fmt.Errorf("ONNX has no element type %v", d)
}

// AttributeProto.AttributeType's numbers.
const (
	attrFloat  = 1
	attrInt    = 2
	attrString = 3
	attrTensor = 4
	attrInts   = 7
)

// Marshal returns the model's bytes; equal models give equal bytes.
func (m *Model) Marshal() ([]byte, error) {
	size := 0
	for _, i := range m.Graph.Initializers {
		if size += len(i.Tensor.Bytes); size > math.MaxInt32 {
			return nil, ErrTooLarge
		}
	}
	g, err := m.Graph.encode()
	if err != nil {
		return nil, err
	}
	var b message
	b.int(1, IRVersion)
	b.text(2, m.Producer)
	b.bytes(7, g)
	var opset message
	opset.text(1, "")
	opset.int(2, Opset)
	b.bytes(8, opset)
	for _, k := range slices.Sorted(maps.Keys(m.Metadata)) {
		var entry message
		entry.text(1, k)
		entry.text(2, m.Metadata[k])
		b.bytes(14, entry)
	}
	if len(b) > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	return b, nil
}

// message is a message as it grows.
type message []byte

func (m *message) int(field protowire.Number, v int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (g *Graph) encode() (message, error) {
	var b message
	for _, n := range g.Nodes {
		e, err := n.encode()
		if err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		b.bytes(1, e)
	}
	b.text(2, g.Name)
	for _, i := range g.Initializers {
		e, err := encodeTensor(i.Name, i.Tensor)
		if err != nil {
			return nil, fmt.Errorf("initializer %s: %w", i.Name, err)
		}
		b.bytes(5, e)
	}
	if err := b.values(11, g.Inputs); err != nil {
		return nil, err
	}
	return b, b.values(12, g.Outputs)
}

func (m *message) values(field protowire.Number, list []Value) error {
	for _, v := range list {
		e, err := v.encode()
		if err != nil {
			return fmt.Errorf("value %s: %w", v.Name, err)
		}
		m.bytes(field, e)
	}
	return nil
}

func (n *Node) encode() (message, error) {
	var b message
	for _, in := range n.Inputs {
		b.text(1, in)
	}
	for _, out := range n.Outputs {
		b.text(2, out)
	}
	b.text(3, n.Name)
	b.text(4, n.Op)
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		a, err := encodeAttribute(name, n.Attrs[name])
		if err != nil {
			return nil, err
		}
		b.bytes(5, a)
	}
	return b, nil
}

func encodeAttribute(name string, v any) (message, error) {
	var b message
	b.text(1, name)
	kind := 0
	switch v := v.(type) {
	case float32:
		b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), math.Float32bits(v))
		kind = attrFloat
	case int:
		b.int(3, v)
		kind = attrInt
	case string:
		b.text(4, v)
		kind = attrString
	case *tensor.Tensor:
		t, err := encodeTensor("", v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		b.bytes(5, t)
		kind = attrTensor
	case []int:
		for _, x := range v {
			b.int(8, x)
		}
		kind = attrInts
	default:
		return nil, fmt.Errorf("attribute %s: no form for a %T", name, v)
	}
	b.int(20, kind)
	return b, nil
}

func encodeTensor(name string, t *tensor.Tensor) (message, error) {
	kind, err := TypeNumber(t.DType)
	if err != nil {
		return nil, err
	}
	b := make(message, 0, len(t.Bytes)+64)
	for _, d := range t.Shape {
		b.int(1, d)
	}
	b.int(2, kind)
	if t.DType == tensor.String {
		for _, s := range t.Strings {
			b.bytes(6, s)
		}
	}
	b.text(8, name)
	if t.DType != tensor.String {
		b.bytes(9, t.Bytes)
	}
	return b, nil
}

func (v *Value) encode() (message, error) {
	kind, err := TypeNumber(v.DType)
	if err != nil {
		return nil, err
	}
	var tensor message
	tensor.int(1, kind)
	if !v.Unranked {
		var shape message
		for _, d := range v.Dims {
			var dim message
			switch {
			case d.Symbol != "":
				dim.text(2, d.Symbol)
			case d.Size >= 0:
				dim.int(1, d.Size)
			}
			shape.bytes(1, dim)
		}
		tensor.bytes(2, shape)
	}
	var typ, b message
	typ.bytes(1, tensor)
	b.text(1, v.Name)
	b.bytes(2, typ)
	return b, nil
}
