package ops_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// operand is one input of a case; dimension -1 is the batch.
type operand struct {
	shape  []int
	lo, hi float64 // range of the values; both 0: -2..2
	dtype  tensor.DType
	// fixed says that no gradient flows to the operand though it is a float.
	fixed bool
	draw  func(rows int) []float64 // the values; nil: random ones
}

// Dimensions other than the batch that vary: the number of values of a ragged operand, and the length of
// its offsets.
const (
	raggedDim  = -2
	offsetsDim = -3
)

// batch is an operand [batch, dims...] of floats in -2..2.
func batch(dims ...int) operand { return operand{shape: append([]int{-1}, dims...)} }

// param is an operand of fixed shape.
func param(dims ...int) operand { return operand{shape: dims} }

func (o operand) in(lo, hi float64) operand { o.lo, o.hi = lo, hi; return o }
func (o operand) of(d tensor.DType) operand { o.dtype = d; return o }
func (o operand) constant() operand         { o.fixed = true; return o }
func (o operand) sized(rows int) []int      { return sized(o.shape, rows) }
func (o operand) float() bool               { return o.dtype == tensor.Invalid }
func (o operand) differentiable() bool      { return o.float() && !o.fixed }
func (o operand) kind(d tensor.DType) tensor.DType {
	return map[bool]tensor.DType{true: d, false: o.dtype}[o.float()]
}

func sized(shape []int, rows int) []int {
	out := slices.Clone(shape)
	for i, n := range out {
		switch n {
		case -1:
			out[i] = rows
		case raggedDim:
			out[i] = raggedCapacity * rows
		case offsetsDim:
			out[i] = rows + 1
		}
	}
	return out
}

// opCase is one application of an op.
type opCase struct {
	fn     string // the exported functions it covers, separated by spaces
	detail string
	in     []operand
	build  func(c models.Context, in []*G.Node) *G.Node
	ref    func(in []*array) *array
	noGrad bool
	// ours says that the gradient has a form that TensorFlow cannot run.
	ours bool
	// tolerance is the relative tolerance in float32; 0 means 2e-5.
	tolerance float64
}

func (c opCase) name() string { return strings.TrimSpace(strings.Fields(c.fn)[0] + " " + c.detail) }

// TestContract runs every op, on every device and in both float types: the
// forward value against an independent reference in float64, the gradients
// against central differences of that reference, at batch sizes that the graph
// was not built for.
func TestContract(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name(), func(t *testing.T) {
			for _, rows := range []int{3, 1} {
				in := c.values(rows)
				want := c.ref(in)
				cot := randomArray(rand.New(rand.NewPCG(7, 7)), want.shape, -1, 1)
				grads := c.differences(in, cot)
				for _, d := range []tensor.DType{tensor.Float64, tensor.Float32} {
					p := c.program(t, d)
					for _, dev := range []device.Device{device.NewHost(), device.NewFake()} {
						got := c.run(t, p, dev, d, in, cot)
						c.compare(t, fmt.Sprintf("%v on %s, batch %d", d, dev.Kind(), rows), d, got, append([]*array{want}, grads...))
					}
				}
			}
		})
	}
}

func (c opCase) compare(t *testing.T, where string, d tensor.DType, got, want []*array) {
	t.Helper()
	for i := range want {
		tol, what := 1e-11, "forward"
		if i > 0 {
			tol, what = 1e-6, fmt.Sprintf("gradient of differentiable operand %d", i-1)
		}
		if d == tensor.Float32 {
			if tol = c.tolerance; tol == 0 {
				tol = 2e-5
			}
		}
		if !slices.Equal(got[i].shape, want[i].shape) {
			t.Fatalf("%s: %s has shape %v, want %v", where, what, got[i].shape, want[i].shape)
		}
		for k, w := range want[i].data {
			if g := got[i].data[k]; !testkit.Near(g, w, tol*math.Max(1, math.Abs(w))) {
				t.Fatalf("%s: %s, element %d is %v, want %v\ngot  %v\nwant %v", where, what, k, g, w, got[i].data, want[i].data)
			}
		}
	}
}

func randomArray(r *rand.Rand, shape []int, lo, hi float64) *array {
	return fill(shape, func([]int) float64 { return lo + (hi-lo)*r.Float64() })
}

// values draws the operands. Floats stay away from 0, where many ops are not
// differentiable, and are representable in float32.
func (c opCase) values(rows int) []*array {
	r := rand.New(rand.NewPCG(1, 2))
	var out []*array
	for _, o := range c.in {
		lo, hi := o.lo, o.hi
		if lo == 0 && hi == 0 {
			lo, hi = -2, 2
		}
		a := randomArray(r, o.sized(rows), lo, hi)
		if o.draw != nil {
			out = append(out, &array{a.shape, o.draw(rows)})
			continue
		}
		for i, v := range a.data {
			switch {
			case !o.float():
				a.data[i] = math.Floor(v)
			case math.Abs(v) < 0.05:
				a.data[i] = 0.05 + v
			}
			a.data[i] = float64(float32(a.data[i]))
		}
		out = append(out, a)
	}
	return out
}

// differences returns the gradients of sum(cot·ref) by central differences.
func (c opCase) differences(in []*array, cot *array) []*array {
	var out []*array
	if c.noGrad {
		return nil
	}
	loss := func() float64 {
		sum := 0.0
		for i, v := range c.ref(in).data {
			sum += v * cot.data[i]
		}
		return sum
	}
	for i, o := range c.in {
		if !o.differentiable() {
			continue
		}
		g := zeros(in[i].shape...)
		for k, v := range in[i].data {
			const h = 1e-5
			in[i].data[k] = v + h
			up := loss()
			in[i].data[k] = v - h
			g.data[k] = (up - loss()) / (2 * h)
			in[i].data[k] = v
		}
		out = append(out, g)
	}
	return out
}

// program builds the case with its gradients.
func (c opCase) program(t *testing.T, d tensor.DType) *modeltest.Program {
	t.Helper()
	return modeltest.New(t, models.Options{Mode: models.Train, DType: d, Seed: 3}, func(b *models.Builder) []*G.Node {
		var in, wrt []*G.Node
		for i, o := range c.in {
			n := b.Input(fmt.Sprintf("in%d", i), o.kind(d), o.sized(b.Batch())...)
			in = append(in, n)
			if o.differentiable() && !c.noGrad {
				wrt = append(wrt, n)
			}
		}
		y := c.build(b, in)
		if b.Failed() {
			return nil
		}
		cot := b.Input("cot", models.GraphType(y.Dtype()), y.Shape()...)
		if len(wrt) == 0 {
			return []*G.Node{y}
		}
		grads, err := G.Grad(ops.Sum(b, ops.Mul(b, y, cot)), wrt...)
		if err != nil {
			b.Fail(err)
		}
		return append([]*G.Node{y}, grads...)
	})
}

// run feeds the operands and the cotangent and returns output and gradients.
func (c opCase) run(t *testing.T, p *modeltest.Program, dev device.Device, d tensor.DType, in []*array, cot *array) []*array {
	t.Helper()
	rows := 1
	var feeds []*tensor.Tensor
	for i, o := range c.in {
		if len(o.shape) > 0 && o.shape[0] == -1 {
			rows = in[i].shape[0]
		}
		if len(o.shape) > 0 && o.shape[0] == offsetsDim {
			rows = in[i].shape[0] - 1
		}
		feeds = append(feeds, modeltest.Tensor(o.kind(d), in[i].data, in[i].shape...))
	}
	out := p.Run(t, dev, rows, 5, append(feeds, modeltest.Tensor(p.Graph.Node("cot").Outputs[0].DType, cot.data, cot.shape...))...)
	var got []*array
	for _, v := range out {
		got = append(got, &array{v.Shape, modeltest.Floats(v)})
	}
	return got
}

// TestContractIsComplete fails if an exported op has no case.
func TestContractIsComplete(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range cases() {
		for _, f := range strings.Fields(c.fn) {
			covered[f] = true
		}
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.IsExported() && takesContext(fn) && !covered[fn.Name.Name] {
				t.Errorf("op %s (%s) has no case in the contract test", fn.Name.Name, e.Name())
			}
		}
	}
}

func takesContext(fn *ast.FuncDecl) bool {
	if len(fn.Type.Params.List) == 0 {
		return false
	}
	s, ok := fn.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Context"
}
