package cuda

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// program is y = (x + x) * x as two operations, and a lookup of labels that can have faults.
type program struct {
	r        *rig
	code     engine.Code
	ops      []*engine.Operation
	x, t, y  device.Buffer
	segment  device.Kernel
	capacity int
}

func newProgram(r *rig, capacity int) *program {
	p := &program{r: r, capacity: capacity, x: r.alloc(4 * capacity), t: r.alloc(4 * capacity), y: r.alloc(4 * capacity)}
	typ := graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()}
	on := func(b device.Buffer) *engine.Operand { return &engine.Operand{Type: typ, Buffer: b} }
	for i, o := range []struct {
		op         string
		a, b, dest device.Buffer
	}{{"AddV2", p.x, p.x, p.t}, {"Mul", p.t, p.x, p.y}} {
		p.ops = append(p.ops, &engine.Operation{Index: i, Node: &graph.Node{Name: o.op, Op: o.op, Outputs: []graph.Type{typ}},
			In: []*engine.Operand{on(o.a), on(o.b)}, Out: []*engine.Operand{on(o.dest)}})
	}
	var err error
	p.code, err = r.d.Lower(p.ops, engine.LowerOptions{})
	r.ok(err)
	p.segment = p.code.Segment([]int{0, 1})
	return p
}

// bind gives the operands sizes.
func (p *program) bind(batch int, moved bool) {
	p.r.t.Helper()
	for _, o := range p.ops {
		for _, v := range append(o.In, o.Out...) {
			v.Dims, v.N = []int{batch}, batch
		}
	}
	p.r.ok(p.code.Bind(batch, moved))
}

// run checks a launch.
func (p *program) run(s *Stream, batch int, first float32) {
	p.r.t.Helper()
	in, out := make([]byte, 4*batch), make([]byte, 4*batch)
	for i := range batch {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(first+float32(i)))
	}
	p.r.ok(errors.Join(s.Upload(p.x, 0, in), s.Launch(p.segment), s.Download(out, p.y, 0), s.Synchronize()))
	for i := range batch {
		x := first + float32(i)
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != 2*x*x {
			p.r.t.Fatalf("batch %d, element %d: expected %g, got %g", batch, i, 2*x*x, got)
		}
	}
}

// graphs counts the captured graphs.
func (p *program) graphs() (n int) {
	for _, b := range p.code.(*code).bound {
		for _, r := range b.replays {
			if r.graph != nil {
				n++
			}
		}
	}
	return n
}

func TestSegmentsBecomeGraphs(t *testing.T) {
	r := newRig(t)
	p, s := newProgram(r, 64), r.stream()
	if err := s.Launch(p.segment); err == nil {
		t.Error("launch before Bind: expected an error")
	}
	for i, want := range []int{0, 1, 1, 1} {
		p.bind(64, i == 0)
		p.run(s, 64, float32(i))
		if got := p.graphs(); got != want {
			t.Errorf("after launch %d: expected %d graphs, got %d", i+1, want, got)
		}
	}
	for batch := 1; batch <= 6; batch++ {
		p.bind(batch, false)
		p.run(s, batch, 1)
		p.run(s, batch, 2)
	}
	if got := p.graphs(); got != maxBound {
		t.Errorf("after many batch sizes: expected %d graphs, got %d", maxBound, got)
	}
	p.bind(5, false)
	if got := p.graphs(); got != maxBound || p.code.(*code).bound[0].batch != 5 {
		t.Errorf("a batch size that is known: %d graphs, batch %d", got, p.code.(*code).bound[0].batch)
	}
	p.bind(5, true)
	if got := p.graphs(); got != 0 {
		t.Errorf("after operands have moved: %d graphs", got)
	}
	p.run(s, 5, 3)
	r.ok(errors.Join(p.code.Close(), p.code.Close(), r.d.Close(), r.f.Leaks()))
}

// TestSteadyLaunches checks that nothing is allocated on the GPU, and that a graph costs one call.
func TestSteadyLaunches(t *testing.T) {
	r := newRig(t)
	p, s := newProgram(r, 8), r.stream()
	p.bind(8, true)
	for range 3 {
		p.run(s, 8, 1)
	}
	broken := errors.New("not in a steady step")
	for _, call := range []string{"Alloc", "AllocHost", "NewEvent", "Capture", "Load", "Launch"} {
		r.f.Inject(call, 0, broken)
	}
	for range 3 {
		p.run(s, 8, 2)
	}
}

// TestEmptyProgram is a program that runs only on the host.
func TestEmptyProgram(t *testing.T) {
	r := newRig(t)
	c, err := r.d.Lower(nil, engine.LowerOptions{})
	r.ok(err)
	r.ok(errors.Join(c.Bind(1, true), c.Close()))
}

func TestFaultsOfKernels(t *testing.T) {
	r := newRig(t)
	typ := func(d tensor.DType) *engine.Operand {
		return &engine.Operand{Type: graph.Type{DType: d, Shape: graph.BatchOf()}, Buffer: r.alloc(64), Dims: []int{4}, N: 4}
	}
	a, b, q := typ(tensor.Int32), typ(tensor.Int32), typ(tensor.Int32)
	v := &engine.Operand{Type: graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(4)}, Variable: true, Buffer: r.alloc(16), Dims: []int{4}, N: 4}
	fixed := &engine.Operand{Type: v.Type, Buffer: q.Buffer, Dims: []int{4}, N: 4}
	ops := []*engine.Operation{
		{Index: 0, Node: &graph.Node{Op: "FloorDiv"}, In: []*engine.Operand{a, b}, Out: []*engine.Operand{q}},
		{Index: 1, Node: &graph.Node{Op: "AssignVariableOp"}, In: []*engine.Operand{v, fixed}},
	}
	c, err := r.d.Lower(ops, engine.LowerOptions{})
	r.ok(err)
	r.ok(c.Bind(4, true))
	k, s := c.Segment([]int{0, 1}), r.stream()
	for i, divisor := range [][]byte{{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}, {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}} {
		got := make([]byte, 16)
		r.ok(errors.Join(s.Upload(a.Buffer, 0, []byte{8, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 9}), s.Upload(b.Buffer, 0, divisor), s.Launch(k), s.Download(got, v.Buffer, 0)))
		err := s.Synchronize()
		var fault *engine.FaultError
		if bad := i == 1; bad != errors.As(err, &fault) || !bad && err != nil {
			t.Fatalf("run %d: got %v", i, err)
		}
		if want := [][]byte{{8, 4, 3, 2}, {8, 4, 3, 2}, {8, 8, 9, 9}}[i]; got[0] != want[0] || got[4] != want[1] || got[8] != want[2] || got[12] != want[3] {
			t.Errorf("run %d: expected the variable %v, got %v", i, want, got)
		}
	}
	r.ok(c.Close())
}
