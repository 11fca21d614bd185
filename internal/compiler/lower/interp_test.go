package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// array is a value of the reference interpreter: everything in float64, row-major.
type array struct {
	shape []int
	v     []float64
}

func newArray(shape ...int) array {
	return array{slices.Clone(shape), make([]float64, tensor.NumElements(shape))}
}

// each calls f with every index of shape in row-major order.
func each(shape []int, f func(ix []int)) {
	ix := make([]int, len(shape))
	for range tensor.NumElements(shape) {
		f(ix)
		for d := len(ix) - 1; d >= 0; d-- {
			if ix[d]++; ix[d] < shape[d] {
				break
			}
			ix[d] = 0
		}
	}
}

// at reads by NumPy's broadcasting rules.
func (a array) at(ix []int) float64 { return a.v[a.offset(ix)] }

func (a array) offset(ix []int) int {
	off, o := len(ix)-len(a.shape), 0
	for d, n := range a.shape {
		i := ix[off+d]
		if n == 1 {
			i = 0
		}
		o = o*n + i
	}
	return o
}

func (a array) ints() []int {
	out := make([]int, len(a.v))
	for i, x := range a.v {
		out[i] = int(x)
	}
	return out
}

// interp evaluates graphs slowly and plainly.
type interp struct {
	feeds map[string]array
	batch int
	memo  map[graph.Output]array
}

func fromTensor(t *tensor.Tensor) array {
	a := newArray(t.Shape...)
	if f, ok := asFloats(t); ok {
		copy(a.v, f)
	}
	return a
}

func (p *interp) eval(o graph.Output) array {
	if v, ok := p.memo[o]; ok {
		return v
	}
	v := p.node(o.Node)
	if want := o.Shape().At(p.batch); !slices.Equal(v.shape, want) {
		panic(fmt.Sprintf("%s (%s): shape %v, IR says %v", o.Node.Name, o.Node.Op, v.shape, want))
	}
	p.memo[o] = v
	return v
}

func (p *interp) node(n *graph.Node) array {
	if f, ok := p.feeds[n.Name]; ok {
		return f
	}
	if n.Op == "Const" {
		return fromTensor(n.Attrs["value"].(*tensor.Tensor))
	}
	in := make([]array, len(n.Inputs))
	for i, x := range n.Inputs {
		in[i] = p.eval(x)
	}
	if f := unaryRef[n.Op]; f != nil {
		out := newArray(in[0].shape...)
		for i, x := range in[0].v {
			out.v[i] = f(x)
		}
		return out
	}
	if f := binaryRef[n.Op]; f != nil {
		shape, ok := broadcast(in[0].shape, in[1].shape)
		if !ok {
			panic(fmt.Sprintf("%s (%s): %v and %v do not broadcast", n.Name, n.Op, in[0].shape, in[1].shape))
		}
		out, i := newArray(shape...), 0
		each(shape, func(ix []int) { out.v[i] = f(in[0].at(ix), in[1].at(ix)); i++ })
		return out
	}
	f := opRef[n.Op]
	if f == nil {
		panic("interpreter lacks " + n.Op)
	}
	return f(n, in, n.Outputs[0].Shape.At(p.batch))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var unaryRef = map[string]func(float64) float64{
	"Identity": func(x float64) float64 { return x }, "Cast": func(x float64) float64 { return x },
	"Abs": math.Abs, "Floor": math.Floor, "Sin": math.Sin, "Cos": math.Cos, "Exp": math.Exp, "Log": math.Log,
	"Neg": func(x float64) float64 { return -x }, "Square": func(x float64) float64 { return x * x }, "Sqrt": math.Sqrt,
	"Reciprocal": func(x float64) float64 { return 1 / x }, "Rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"Tanh": math.Tanh, "Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Log1p": math.Log1p, "Expm1": math.Expm1, "Softplus": func(x float64) float64 { return math.Log1p(math.Exp(x)) },
	"Sign": func(x float64) float64 { return truth(x > 0) - truth(x < 0) },
}

var binaryRef = map[string]func(x, y float64) float64{
	"AddV2": func(x, y float64) float64 { return x + y }, "Sub": func(x, y float64) float64 { return x - y },
	"Mul": func(x, y float64) float64 { return x * y }, "RealDiv": func(x, y float64) float64 { return x / y }, "Pow": math.Pow,
	"Minimum": math.Min, "Maximum": math.Max,
	"Less": func(x, y float64) float64 { return truth(x < y) }, "Greater": func(x, y float64) float64 { return truth(x > y) },
	"LessEqual": func(x, y float64) float64 { return truth(x <= y) }, "GreaterEqual": func(x, y float64) float64 { return truth(x >= y) },
	"Equal": func(x, y float64) float64 { return truth(x == y) }, "NotEqual": func(x, y float64) float64 { return truth(x != y) },
}
