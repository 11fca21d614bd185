package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

type twinCode struct {
	dev    *twin
	ops    []*twinOp
	binds  int
	closed bool
}

func (c *twinCode) Workspace(i, batch int) int {
	if c.dev.room != nil {
		return c.dev.room(c.ops[i].o, batch)
	}
	return 64
}

func (c *twinCode) Segment(ops []int) device.Kernel { return &twinKernel{c, ops} }

func (c *twinCode) Bind(batch int, moved bool) error {
	c.binds++
	for _, t := range c.ops {
		if n := c.Workspace(t.o.Index, batch); t.o.Workspace.N < n {
			return fmt.Errorf("%s: workspace of %d bytes, expected %d", t.o.Node.Name, t.o.Workspace.N, n)
		}
		if err := t.bind(batch, moved); err != nil {
			return fmt.Errorf("%s: %w", t.o.Node.Name, err)
		}
	}
	return nil
}

func (c *twinCode) Close() error {
	if c.closed {
		return errors.New("closed twice")
	}
	c.closed = true
	return nil
}

// twinKernel runs operations.
type twinKernel struct {
	c   *twinCode
	ops []int
}

func (k *twinKernel) Run() error {
	if k.c.closed {
		return errors.New("launched after Close")
	}
	for _, i := range k.ops {
		t := k.c.ops[i]
		if t.scratch = t.places(t.scratch[:0]); !slices.Equal(t.bound, t.scratch) {
			return fmt.Errorf("operation %d (%s): launched without Bind", i, t.o.Node.Name)
		}
		if w := t.o.Workspace; w.N > 0 {
			poison(memoryOf(&w, w.N))
		}
		if f := k.c.dev.fault; f != nil {
			if err := f(t.o); err != nil {
				return &FaultError{i, err}
			}
		}
		if g := t.o.Guard; g != nil && view[int64](t.values[g])[0] != 0 {
			continue
		}
		for _, run := range t.runs {
			if err := run(); err != nil {
				return &FaultError{i, err}
			}
		}
	}
	return nil
}

func poison(mem []byte) {
	for i := range mem {
		mem[i] = 0xff
	}
}

// spot is the place and size of an operand.
type spot struct {
	buf    device.Buffer
	offset int
	n      int
}

func memoryOf(o *Operand, bytes int) []byte {
	mem := unwrapped(o.Buffer).(device.Mapped).Map()
	return mem[o.Offset : o.Offset+bytes : o.Offset+bytes]
}

// twinOp is an operation as the engine's Go code.
type twinOp struct {
	o       *Operation
	all     []*Operand
	values  map[*Operand]*value // the operand in place
	wide    map[*Operand]*value // the same, or a float32 copy of bfloat16
	vars    map[*Operand]*variable
	inside  []*value // inner values of a fusion
	runs    []runFunc
	onBatch []func() error
	bound   []spot // at the latest Bind
	scratch []spot
}

func newTwinOp(o *Operation) (*twinOp, error) {
	t := &twinOp{o: o, values: map[*Operand]*value{}, wide: map[*Operand]*value{}, vars: map[*Operand]*variable{}}
	operands := slices.Concat(o.In, o.Out)
	if o.Guard != nil {
		operands = append(operands, o.Guard)
	}
	for _, x := range operands {
		if x.Variable && t.vars[x] == nil {
			t.vars[x] = &variable{dtype: x.Type.DType, shape: x.Type.Shape.At(1), elem: x.Type.DType.Size(), n: x.Type.Shape.ElementsAt(1)}
		}
		if t.values[x] == nil {
			t.all = append(t.all, x)
			t.values[x] = newValue(x.Type)
			t.wide[x] = t.values[x]
			if x.Type.DType == tensor.BFloat16 {
				t.wide[x] = newValue(widened(x.Type))
				t.inside = append(t.inside, t.wide[x])
			}
		}
	}
	for _, x := range o.In {
		if from, to := t.values[x], t.wide[x]; from != to {
			t.runs = append(t.runs, func() error {
				convert.Between(tensor.BFloat16, tensor.Float32)(to.bytes(), from.bytes())
				return nil
			})
		}
	}
	if err := t.work(); err != nil {
		return nil, err
	}
	for _, x := range o.Out {
		if from, to := t.wide[x], t.values[x]; from != to {
			t.runs = append(t.runs, func() error {
				convert.Between(tensor.Float32, tensor.BFloat16)(to.bytes(), from.bytes())
				return nil
			})
		}
	}
	return t, nil
}

func widened(t graph.Type) graph.Type {
	if t.DType == tensor.BFloat16 {
		t.DType = tensor.Float32
	}
	return t
}

// work compiles the operation itself.
func (t *twinOp) work() error {
	o := t.o
	if o.Node.Op == fusionOp {
		return t.fusion()
	}
	var ins, outs []*value
	var stubs []port
	for _, x := range o.In {
		ins, stubs = append(ins, t.wide[x]), append(stubs, stub(x, t.wide[x]))
	}
	for _, x := range o.Out {
		outs = append(outs, t.wide[x])
	}
	return t.compile(o.Node, stubs, ins, outs)
}

func stub(x *Operand, v *value) port {
	n := &graph.Node{Name: "operand", Op: "Placeholder", Outputs: []graph.Type{v.typ}}
	if x.Constant != nil {
		n.Op, n.Attrs = "Const", graph.Attrs{"value": x.Constant}
	}
	return port{&op{node: n, feed: -1, def: registry()[n.Op], out: []*value{v}}, 0}
}

func (t *twinOp) compile(n *graph.Node, stubs []port, ins, outs []*value) error {
	d := registry()[n.Op]
	if d == nil || d.compile == nil {
		return fmt.Errorf("no form of %s", n.Op)
	}
	wide := *n
	wide.Outputs = nil
	for _, t := range n.Outputs {
		wide.Outputs = append(wide.Outputs, widened(t))
	}
	n = &wide
	x := &op{node: n, feed: -1, def: d, in: stubs, out: outs}
	for _, o := range t.o.In {
		if v := t.vars[o]; v != nil && d.writes {
			x.write = append(x.write, v)
		} else if v != nil {
			x.reads = v
		}
	}
	c := &binding{node: n, op: x, in: ins, out: outs, shared: &sharedWeights{all: map[weightsKey]*weightsUse{}}}
	run, err := compileOp(c)
	if err != nil || run == nil {
		return errors.Join(err, fmt.Errorf("%s does nothing: %v", n.Op, run == nil))
	}
	t.runs = append(t.runs, run)
	if c.onBatch != nil {
		t.onBatch = append(t.onBatch, c.onBatch)
	}
	return nil
}

// fusion compiles parts one after the other.
func (t *twinOp) fusion() error {
	known := map[graph.Output]port{}
	for i, s := range t.o.Sources {
		known[s] = stub(t.o.In[i], t.wide[t.o.In[i]])
		if !sameType(s.Type(), t.o.In[i].Type) {
			return fmt.Errorf("source %v is not input %d", s, i)
		}
	}
	results := map[graph.Output]*Operand{}
	for i, r := range t.o.Results {
		results[r] = t.o.Out[i]
	}
	for _, n := range t.o.Body {
		var ins []*value
		var stubs []port
		for _, in := range n.Inputs {
			p, ok := known[in]
			if !ok {
				return fmt.Errorf("part %s: input %v is no source and no part before", n.Name, in)
			}
			ins, stubs = append(ins, p.value()), append(stubs, p)
		}
		v := newValue(widened(n.Outputs[0]))
		t.inside = append(t.inside, v)
		known[n.Out(0)] = port{&op{node: n, feed: -1, def: registry()[n.Op], out: []*value{v}}, 0}
		if err := t.compile(n, stubs, ins, []*value{v}); err != nil {
			return err
		}
	}
	for r, x := range results {
		from, to := known[r], t.wide[x]
		if from.op == nil {
			return fmt.Errorf("result %v is of no part", r)
		}
		t.runs = append(t.runs, func() error { copy(to.bytes(), from.value().bytes()); return nil })
	}
	return nil
}

func (t *twinOp) places(to []spot) []spot {
	for _, x := range t.all {
		to = append(to, spot{x.Buffer, x.Offset, x.N})
	}
	return append(to, spot{t.o.Workspace.Buffer, t.o.Workspace.Offset, t.o.Workspace.N})
}

func (t *twinOp) bind(batch int, moved bool) error {
	was := t.bound
	t.bound = t.places(nil)
	for i, b := range t.bound {
		if !moved && (was == nil || was[i].buf != b.buf || was[i].offset != b.offset) {
			return errors.New("moved, but Bind was not called")
		}
	}
	for _, x := range t.all {
		v := t.values[x]
		v.n, v.dims = x.N, append(v.dims[:0], x.Dims...)
		if tensor.NumElements(x.Dims) != x.N {
			return fmt.Errorf("%d elements of %v", x.N, x.Dims)
		}
		if x.Buffer == nil {
			continue
		}
		if x.Offset%acceleratorAlignment != 0 {
			return fmt.Errorf("operand at %d", x.Offset)
		}
		if y := t.vars[x]; y != nil {
			y.buf = unwrapped(x.Buffer)
			continue
		}
		v.mem = memoryOf(x, x.N*v.elem)
	}
	for _, v := range t.inside {
		v.resize(batch)
		v.mem = tensor.New(tensor.Uint8, v.n*v.elem).Bytes
	}
	for _, f := range t.onBatch {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
