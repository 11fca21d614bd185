package onnx

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
)

// ErrInvalid is wrapped by errors about data that is no ONNX model, or a damaged one.
var ErrInvalid = errors.New("invalid ONNX model")

// The versions of the format that are read.
const minIR, maxIR = 3, 14

// Bounds of a model's structure.
const (
	maxDepth = 32      // nested graphs
	maxNodes = 4 << 20 // in all graphs and functions
	maxRank  = 64
)

// Unmarshal reads a model whose weights are all in data. Tensors may share memory with data.
func Unmarshal(data []byte) (*Model, error) { return unmarshal(data, nil) }

func unmarshal(data []byte, files *files) (*Model, error) {
	p := &ModelProto{}
	if err := proto.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d := &decoder{files: files, nodes: maxNodes}
	m, err := d.model(p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return m, nil
}

// decoder turns messages into a Model.
type decoder struct {
	files *files // for external data; nil: there is none
	depth int
	nodes int // that may still follow
}

func (d *decoder) model(p *ModelProto) (*Model, error) {
	ir := p.GetIrVersion()
	if ir < minIR || ir > maxIR {
		return nil, fmt.Errorf("version %d of the format: expected %d to %d", ir, minIR, maxIR)
	}
	if p.GetGraph() == nil {
		return nil, errors.New("it holds no graph")
	}
	m := &Model{IR: int(ir), Producer: p.GetProducerName(), Metadata: map[string]string{}}
	var err error
	if m.Opsets, err = opsets(p.GetOpsetImport()); err != nil {
		return nil, err
	}
	for _, e := range p.GetMetadataProps() {
		m.Metadata[e.GetKey()] = e.GetValue()
	}
	for i, f := range p.GetFunctions() {
		fn, err := d.function(f)
		if err != nil {
			return nil, fmt.Errorf("function %d, %q: %w", i, f.GetName(), err)
		}
		m.Functions = append(m.Functions, fn)
	}
	g, err := d.graph(p.GetGraph())
	if err != nil {
		return nil, err
	}
	m.Graph = *g
	return m, nil
}

// DefaultDomain is another name for the domain "".
const DefaultDomain = "ai.onnx"

func domain(name string) string {
	if name == DefaultDomain {
		return ""
	}
	return name
}

func opsets(list []*OperatorSetIdProto) (map[string]int, error) {
	all := map[string]int{}
	for _, o := range list {
		v := o.GetVersion()
		if v < 1 || v > 1<<20 {
			return nil, fmt.Errorf("version %d of the operators of domain %q: expected a positive number", v, o.GetDomain())
		}
		all[domain(o.GetDomain())] = int(v)
	}
	return all, nil
}

func (d *decoder) function(p *FunctionProto) (f Function, err error) {
	f = Function{Domain: domain(p.GetDomain()), Name: p.GetName(), Inputs: p.GetInput(), Outputs: p.GetOutput(), Attrs: p.GetAttribute()}
	if f.Opsets, err = opsets(p.GetOpsetImport()); err != nil {
		return f, err
	}
	if f.Defaults, err = d.attributes(p.GetAttributeProto()); err != nil {
		return f, err
	}
	f.Nodes, err = d.nodeList(p.GetNode())
	return f, err
}

func (d *decoder) graph(p *GraphProto) (*Graph, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, fmt.Errorf("graphs within graphs: expected at most %d", maxDepth)
	}
	defer func() { d.depth-- }()
	g := &Graph{Name: p.GetName()}
	var err error
	for _, t := range p.GetInitializer() {
		v, err := d.tensor(t)
		if err != nil {
			return nil, fmt.Errorf("initializer %q: %w", t.GetName(), err)
		}
		g.Initializers = append(g.Initializers, Initializer{t.GetName(), v})
	}
	for _, s := range p.GetSparseInitializer() {
		g.Sparse = append(g.Sparse, s.GetValues().GetName())
	}
	if g.Inputs, err = values(p.GetInput()); err != nil {
		return nil, err
	}
	if g.Outputs, err = values(p.GetOutput()); err != nil {
		return nil, err
	}
	if g.Known, err = values(p.GetValueInfo()); err != nil {
		return nil, err
	}
	g.Nodes, err = d.nodeList(p.GetNode())
	return g, err
}

func (d *decoder) nodeList(list []*NodeProto) ([]Node, error) {
	if d.nodes -= len(list); d.nodes < 0 {
		return nil, fmt.Errorf("more than %d nodes", maxNodes)
	}
	var all []Node
	for i, p := range list {
		attrs, err := d.attributes(p.GetAttribute())
		if err != nil {
			return nil, fmt.Errorf("node %d, %q (%s): %w", i, p.GetName(), p.GetOpType(), err)
		}
		all = append(all, Node{Domain: domain(p.GetDomain()), Op: p.GetOpType(), Name: p.GetName(), Inputs: p.GetInput(), Outputs: p.GetOutput(), Attrs: attrs})
	}
	return all, nil
}

func (d *decoder) attributes(list []*AttributeProto) (map[string]any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	all := make(map[string]any, len(list))
	for _, p := range list {
		v, err := d.attribute(p)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", p.GetName(), err)
		}
		if _, twice := all[p.GetName()]; twice {
			return nil, fmt.Errorf("attribute %s is there twice", p.GetName())
		}
		all[p.GetName()] = v
	}
	return all, nil
}

func (d *decoder) attribute(p *AttributeProto) (any, error) {
	if p.GetRefAttrName() != "" {
		return AttrRef(p.GetRefAttrName()), nil
	}
	switch k := kindOf(p); k {
	case AttributeProto_FLOAT:
		return p.GetF(), nil
	case AttributeProto_INT:
		return int(p.GetI()), nil
	case AttributeProto_STRING:
		return string(p.GetS()), nil
	case AttributeProto_TENSOR:
		if p.GetT() == nil {
			return nil, errors.New("its tensor is missing")
		}
		return d.tensor(p.GetT())
	case AttributeProto_GRAPH:
		if p.GetG() == nil {
			return nil, errors.New("its graph is missing")
		}
		return d.graph(p.GetG())
	case AttributeProto_FLOATS:
		return append([]float32{}, p.GetFloats()...), nil
	case AttributeProto_INTS:
		return ints(p.GetInts()), nil
	case AttributeProto_STRINGS:
		list := make([]string, len(p.GetStrings()))
		for i, s := range p.GetStrings() {
			list[i] = string(s)
		}
		return list, nil
	default:
		return Unread(k.String()), nil
	}
}

// kindOf returns the kind of an attribute, which old files leave out.
func kindOf(p *AttributeProto) AttributeProto_AttributeType {
	if k := p.GetType(); k != AttributeProto_UNDEFINED {
		return k
	}
	switch {
	case p.F != nil:
		return AttributeProto_FLOAT
	case p.I != nil:
		return AttributeProto_INT
	case p.S != nil:
		return AttributeProto_STRING
	case p.T != nil:
		return AttributeProto_TENSOR
	case p.G != nil:
		return AttributeProto_GRAPH
	case len(p.GetFloats()) > 0:
		return AttributeProto_FLOATS
	case len(p.GetInts()) > 0:
		return AttributeProto_INTS
	case len(p.GetStrings()) > 0:
		return AttributeProto_STRINGS
	}
	return AttributeProto_UNDEFINED
}

func values(list []*ValueInfoProto) ([]Value, error) {
	var all []Value
	for _, p := range list {
		v, err := value(p.GetName(), p.GetType())
		if err != nil {
			return nil, fmt.Errorf("value %q: %w", p.GetName(), err)
		}
		all = append(all, v)
	}
	return all, nil
}

// value reads a type. Kinds without a name are of unknown type.
func value(name string, t *TypeProto) (v Value, err error) {
	kind, inner := "", t
	switch outer := t.GetValue().(type) {
	case *TypeProto_MapType:
		return Value{Name: name, Kind: "map"}, nil
	case *TypeProto_SequenceType:
		kind, inner = "sequence", outer.SequenceType.GetElemType()
	case *TypeProto_OptionalType:
		kind, inner = "optional", outer.OptionalType.GetElemType()
		if s := inner.GetSequenceType(); s != nil {
			kind, inner = "optional sequence", s.GetElemType()
		}
	}
	v = Value{Name: name, Unranked: true}
	if inner.GetTensorType() != nil {
		v, err = tensorValue(name, inner.GetTensorType())
	}
	v.Kind = kind
	return v, err
}

func tensorValue(name string, t *TypeProto_Tensor) (Value, error) {
	v := Value{Name: name, Unranked: t.GetShape() == nil}
	v.DType = elementTypes[TensorProto_DataType(t.GetElemType())] // Invalid for a type that tensors do not have
	if len(t.GetShape().GetDim()) > maxRank {
		return v, fmt.Errorf("rank %d: expected at most %d", len(t.GetShape().GetDim()), maxRank)
	}
	for _, p := range t.GetShape().GetDim() {
		d := Dim{Size: -1}
		switch x := p.GetValue().(type) {
		case *TensorShapeProto_Dimension_DimValue:
			if d.Size = int(x.DimValue); x.DimValue > 1<<40 {
				return v, fmt.Errorf("a dimension of size %d", x.DimValue)
			}
		case *TensorShapeProto_Dimension_DimParam:
			if d.Symbol = x.DimParam; d.Symbol != "" {
				d.Size = 0
			}
		}
		v.Dims = append(v.Dims, d)
	}
	return v, nil
}

func ints(list []int64) []int {
	all := make([]int, len(list))
	for i, v := range list {
		all[i] = int(v)
	}
	return slices.Clip(all)
}
