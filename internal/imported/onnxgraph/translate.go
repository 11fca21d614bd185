package onnxgraph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Model is a model as the session loads it.
type Model struct {
	Graph *savedmodel.MetaGraph
	// Values are the values of the graph's variables, by name.
	Values map[string]*tensor.Tensor
}

// Gap is an operator, or a part of one, that cannot be translated.
type Gap struct {
	Op    string   // with its domain unless it is the default one
	Why   string   // what is missing
	Nodes []string // the nodes that need it
}

// UnsupportedError lists what a model has that cannot be translated.
type UnsupportedError struct{ Gaps []Gap }

// Error names each operator and one of its nodes.
func (e *UnsupportedError) Error() string {
	parts := make([]string, len(e.Gaps))
	for i, g := range e.Gaps {
		parts[i] = fmt.Sprintf("%s (node %s, %d in all): %s", g.Op, g.Nodes[0], len(g.Nodes), g.Why)
	}
	return "the model needs operators of ONNX that are not supported: " + strings.Join(parts, ", ")
}

// Open reads and translates the model in dir/model.onnx, until ctx is done. The error wraps fs.ErrNotExist if there is none,
// onnx.ErrInvalid if it is damaged, and *UnsupportedError if something cannot be translated.
func Open(ctx context.Context, dir string) (*Model, error) {
	m, err := onnx.Read(dir)
	if err != nil {
		return nil, err
	}
	t, err := Translate(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", dir, err)
	}
	t.Graph.Dir = dir
	return t, nil
}

// translation is the state of translating one model.
type translation struct {
	ctx       context.Context // of the load, also for computing constants
	m         *onnx.Model
	values    map[string]*tensor.Tensor
	holders   map[holderKey]*holder
	library   *function_go_proto.FunctionDefLibrary
	gaps      map[[2]string][]string
	open      map[string]int               // open dimensions by symbol
	functions map[[2]string]*onnx.Function // by domain and name
	calls     int                          // depth of nested calls of the model's functions
	orders    orders
	budget    int // nodes that may still be translated
	made      int // nodes, with their inputs and results
	room      int // bytes of constants that may still be made
	work      int // bytes of constants that may still be read to make others
}

// Limits on what functions and unrolled loops may make of a model.
const (
	maxCalls      = 64
	maxTranslated = 1 << 18
	maxMade       = 1 << 21
	maxWork       = 16 << 30
	minRoom       = 256 << 20 // bytes of constants that may be made, in addition to four times the existing ones
)

// count refuses a model that becomes too many nodes, counted with their inputs and results.
func (t *translation) count(n int) {
	if t.made += n; t.made > maxMade {
		refuse("it becomes too many nodes: those of the model with their inputs and results are more than %d", maxMade)
	}
}

// pay refuses a model whose attributes would make too many bytes of constants.
func (t *translation) pay(bytes int) {
	if t.room -= bytes; t.room < 0 {
		refuse("%d bytes of constants: expected less beside those that there are", bytes)
	}
}

// Translate makes a graph of a model. It returns ctx's error once ctx is done.
func Translate(ctx context.Context, m *onnx.Model) (_ *Model, err error) {
	t := &translation{ctx: ctx, m: m, values: map[string]*tensor.Tensor{}, holders: map[holderKey]*holder{}, library: &function_go_proto.FunctionDefLibrary{},
		gaps: map[[2]string][]string{}, open: map[string]int{}, orders: newOrders(), budget: maxTranslated, room: minRoom, work: maxWork, functions: map[[2]string]*onnx.Function{}}
	for i := range m.Functions {
		f := &m.Functions[i]
		if key := [2]string{f.Domain, f.Name}; t.functions[key] == nil {
			t.functions[key] = f
		}
	}
	once := map[*byte]bool{} // initializers may share memory
	for _, i := range m.Graph.Initializers {
		if at := unsafe.SliceData(i.Tensor.Bytes); !once[at] {
			once[at] = true
			t.room += 4 * i.Tensor.MemoryBytes()
		}
	}
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			if err = ctx.Err(); err != nil {
				return
			}
			err = fmt.Errorf("%w: %s", onnx.ErrInvalid, why.why)
		}
	}()
	b := t.builder(nil)
	sig := &pb.SignatureDef{Inputs: map[string]*pb.TensorInfo{}, Outputs: map[string]*pb.TensorInfo{}, MethodName: savedmodel.MethodPredict}
	s := t.scope(b, nil, m.Opsets)
	t.inputs(s, sig)
	s.run(m.Graph.Nodes)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(t.gaps) > 0 {
		return nil, t.unsupported()
	}
	t.outputs(s, sig)
	if len(t.gaps) > 0 {
		return nil, t.unsupported()
	}
	if err := b.g.Err(); err != nil {
		return nil, err
	}
	gd, err := graphdef.ToGraphDef(b.g.Graph)
	if err != nil {
		return nil, err
	}
	gd.Library = t.library
	sigs := map[string]*pb.SignatureDef{savedmodel.DefaultSignature: sig}
	mg := &savedmodel.MetaGraph{Tags: []string{savedmodel.TagServe}, Graph: b.g.Graph, Signatures: sigs,
		Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs, MetaInfoDef: &pb.MetaGraphDef_MetaInfoDef{Tags: []string{savedmodel.TagServe}}}}
	return &Model{mg, t.values}, nil
}

func (t *translation) builder(parent *builder) *builder {
	return &builder{t: t, g: graph.NewBuilder(graph.New()), parent: parent, taken: map[*value]*value{}, made: map[*value]struct{}{}, name: "node"}
}

// gap notes something that cannot be translated.
func (t *translation) gap(op, why, node string) {
	key := [2]string{op, why}
	t.gaps[key] = append(t.gaps[key], node)
}

func (t *translation) unsupported() error {
	e := &UnsupportedError{}
	for key, nodes := range t.gaps {
		e.Gaps = append(e.Gaps, Gap{key[0], key[1], nodes})
	}
	slices.SortFunc(e.Gaps, func(a, b Gap) int { return cmp.Or(strings.Compare(a.Op, b.Op), strings.Compare(a.Why, b.Why)) })
	return e
}

// inputs adds the model's inputs. Inputs with an initializer are constants. A sequence becomes one tensor, with the elements along the
// first dimension; optional inputs must be present.
func (t *translation) inputs(s *scope, sig *pb.SignatureDef) {
	g := &t.m.Graph
	constants := map[string]bool{}
	for _, i := range g.Initializers {
		constants[i.Name] = true
	}
	s.initializers(g)
	for _, in := range g.Inputs {
		if constants[in.Name] {
			continue
		}
		sequence := in.Kind == "sequence" || in.Kind == "optional sequence"
		switch {
		case in.Kind != "" && in.Kind != "optional" && !sequence:
			t.gap("input", "values of kind "+in.Kind, in.Name)
			s.define(in.Name, nil)
			continue
		case in.DType == tensor.Invalid, wide[in.DType] != tensor.Invalid:
			t.gap("input", "its element type is not stated, or not supported", in.Name)
			s.define(in.Name, nil)
			continue
		}
		if sequence && !in.Unranked {
			in.Dims = append([]onnx.Dim{{Size: -1}}, in.Dims...)
		}
		v := s.b.placeholder(in.Name, in.DType, t.assumed(in))
		sig.Inputs[in.Name] = info(in, v)
		if sequence {
			v = s.b.elements(v, in)
		}
		s.define(in.Name, v)
	}
}

// elements returns the list for a sequence that is passed as one tensor.
func (b *builder) elements(v *value, in onnx.Value) *value {
	e := &element{dtype: in.DType}
	if !in.Unranked {
		e.dims = []int{}
		for _, d := range in.Dims[1:] {
			if d.Symbol != "" {
				d.Size = -1
			}
			e.dims = append(e.dims, d.Size)
		}
	}
	list := b.op(ops.TensorListFromTensor, nil, v, b.elementShape(e))
	list.list = e
	return list
}

// assumed returns what is known about an input under each assumption.
func (t *translation) assumed(in onnx.Value) (p probes) {
	if in.Unranked {
		return p
	}
	for k := range p {
		shape := make([]int, len(in.Dims))
		for i, d := range in.Dims {
			if shape[i] = d.Size; d.Symbol == "" && d.Size >= 0 {
				continue
			}
			symbol := d.Symbol
			if symbol == "" {
				symbol = fmt.Sprintf("%s\x00%d", in.Name, i)
			}
			if _, known := t.open[symbol]; !known {
				t.open[symbol] = len(t.open)
			}
			shape[i] = openSizes[k](t.open[symbol])
		}
		p[k] = infer.Shaped(shape...)
	}
	return p
}

// info describes a tensor of the signature.
func info(v onnx.Value, as *value) *pb.TensorInfo {
	shape := &tensor_shape_go_proto.TensorShapeProto{UnknownRank: v.Unranked}
	for _, d := range v.Dims {
		size := int64(d.Size)
		if d.Symbol != "" || d.Size < 0 {
			size = -1
		}
		shape.Dim = append(shape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: size})
	}
	return &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: as.out.String()}, Dtype: types_go_proto.DataType(as.dtype), TensorShape: shape}
}
