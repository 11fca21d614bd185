package interop_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// TestOpsAgree runs a table of ops as one graph in the engine, and the same graph
// as a GraphDef in TensorFlow. Integers must be equal, floats to 1e-5 of the largest.
func TestOpsAgree(t *testing.T) {
	py := peers(t)
	s := newOpSheet(t)
	for _, table := range [][]opCase{imageOps(), classOps(), mathOps(), shapeOps(), randomOps()} {
		for _, c := range table {
			s.add(c)
		}
	}
	dir := t.TempDir()
	def, err := graphdef.Marshal(s.b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "graph.pb"), def)
	save(t, filepath.Join(dir, "feeds"), s.feeds)
	save(t, filepath.Join(dir, "want"), s.run())
	py.run(t, "run_graph.py", dir)
}

// opCase is one op with its operands and the types of its outputs.
type opCase struct {
	name  string // the op, and a detail after a space
	attrs graph.Attrs
	in    []operand
	out   []graph.Type
	// private is the number of outputs at the end that are internal to the op and not compared.
	private int
}

// operand is an input of an op: random numbers, given numbers, or the output of an earlier case.
type operand struct {
	dtype    tensor.DType
	shape    []int
	values   []float64 // nil: normally distributed
	constant bool
	from     string // "case:output"
}

func random(shape ...int) operand { return operand{dtype: tensor.Float32, shape: shape} }
func from(output string) operand  { return operand{from: output} }
func given(d tensor.DType, values ...float64) operand {
	return operand{dtype: d, shape: []int{len(values)}, values: values}
}
func fixed(d tensor.DType, values ...float64) operand {
	o := given(d, values...)
	o.constant = true
	return o
}
func number(d tensor.DType, v float64) operand {
	return operand{dtype: d, shape: []int{}, values: []float64{v}, constant: true}
}
func (o operand) as(shape ...int) operand { o.shape = shape; return o }

func typ(d tensor.DType, shape ...int) graph.Type {
	return graph.Type{DType: d, Shape: graph.ShapeOf(shape...)}
}
func float(shape ...int) []graph.Type { return []graph.Type{typ(tensor.Float32, shape...)} }

// opSheet is the graph of all cases.
type opSheet struct {
	t       *testing.T
	b       *graph.Builder
	r       *rand.Rand
	feeds   map[string]*tensor.Tensor
	ins     []graph.Output
	fetches []graph.Output
}

func newOpSheet(t *testing.T) *opSheet {
	return &opSheet{t: t, b: graph.NewBuilder(graph.New()), r: rand.New(rand.NewPCG(3, 4)), feeds: map[string]*tensor.Tensor{}}
}

func (s *opSheet) add(c opCase) {
	op, _, _ := strings.Cut(c.name, " ")
	name := strings.NewReplacer(" ", "_", ",", "_").Replace(c.name)
	var in []graph.Output
	for i, o := range c.in {
		in = append(in, s.operand(fmt.Sprintf("%s/in%d", name, i), o))
	}
	n := s.b.Node(op, name, c.out, c.attrs, in...)
	for i := range len(c.out) - c.private {
		s.fetches = append(s.fetches, n.Out(i))
	}
}

func (s *opSheet) operand(name string, o operand) graph.Output {
	if o.from != "" {
		var i int
		node, index, _ := strings.Cut(o.from, ":")
		if _, err := fmt.Sscan(index, &i); err != nil {
			s.t.Fatal(err)
		}
		return s.b.Graph.Node(node).Out(i)
	}
	x := s.tensor(o)
	if o.constant {
		return s.b.Const(name, x)
	}
	s.feeds[name+":0"] = x
	out := s.b.Placeholder(name, typ(o.dtype, o.shape...))
	s.ins = append(s.ins, out)
	return out
}

func (s *opSheet) tensor(o operand) *tensor.Tensor {
	x := tensor.New(o.dtype, o.shape...)
	for i := range x.Len() {
		v := s.r.NormFloat64()
		if o.values != nil {
			v = o.values[i]
		}
		switch o.dtype {
		case tensor.Float32:
			tensor.Values[float32](x)[i] = float32(v)
		case tensor.Int32:
			tensor.Values[int32](x)[i] = int32(v)
		case tensor.Int64:
			tensor.Values[int64](x)[i] = int64(v)
		case tensor.Uint64:
			tensor.Values[uint64](x)[i] = uint64(v)
		default:
			s.t.Fatalf("no operand of type %v", o.dtype)
		}
	}
	return x
}

// run computes every output to compare.
func (s *opSheet) run() map[string]*tensor.Tensor {
	s.t.Helper()
	if err := s.b.Err(); err != nil {
		s.t.Fatal(err)
	}
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := engine.Compile(s.b.Graph, engine.Spec{Feeds: s.ins, Fetches: s.fetches}, dev, vars, engine.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	var feeds []*tensor.Tensor
	for _, in := range s.ins {
		feeds = append(feeds, s.feeds[in.Node.Name+":0"])
	}
	if err := p.Run(s.t.Context(), 1, feeds); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]*tensor.Tensor{}
	for i, f := range s.fetches {
		out[fmt.Sprintf("%s:%d", f.Node.Name, f.Index)] = p.Value(i).Clone()
	}
	return out
}
