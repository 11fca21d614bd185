package attention

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// hidden is the score of a key that a query must not attend to. Beside any ordinary score its softmax is 0.
const hidden = -1e9

// Expand adds TensorFlow's ops for each attention and each attention gradient of a graph. The original node becomes an
// Identity or IdentityN of their results, so that references to its outputs stay valid.
func Expand(b *graph.Builder) error {
	for _, n := range b.Graph.Nodes() {
		switch n.Op {
		case ops.Attention.Name:
			out := newExpansion(b, n, n.Inputs[3:]).forward()
			become(n, "Identity", graph.Attrs{"T": out.DType()}, out) // only the gradient reads lse
		case ops.AttentionGrad.Name:
			by := newExpansion(b, n, n.Inputs[6:]).backward(n.Inputs[5])
			d := by[0].DType()
			become(n, "IdentityN", graph.Attrs{"T": []tensor.DType{d, d, d}}, by...)
		}
		if err := b.Err(); err != nil {
			return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
	}
	return nil
}

// become turns n into an op that returns its inputs.
func become(n *graph.Node, op string, attrs graph.Attrs, in ...graph.Output) {
	n.Op, n.Attrs, n.Inputs, n.Outputs = op, attrs, in, n.Outputs[:len(in)]
}

// expansion is the state of expanding one attention. Its tensors are [batch, heads, length, depth].
type expansion struct {
	*graph.Builder
	name          string
	d             tensor.DType
	heads, groups int
	q, k, v       graph.Output
	mask          graph.Output   // the caller's, or none
	numbers       []graph.Output // key and counter of dropout
	causal        bool
	rate          float64
	seen          graph.Output // as [.., .., queries, keys], or none
	kept          graph.Output // 0 where a weight is dropped, else 1/(1-rate); or none
}

func newExpansion(b *graph.Builder, n *graph.Node, more []graph.Output) *expansion {
	rate, _ := n.Attrs["drop"].(float32)
	x := &expansion{Builder: b, name: n.Name, d: n.Inputs[0].DType(), causal: n.Bool("causal"), rate: float64(rate)}
	x.heads, x.groups = n.Inputs[0].Shape().Dims[2].Const, n.Inputs[1].Shape().Dims[2].Const
	if n.Bool("masked") {
		x.mask, more = more[0], more[1:]
	}
	x.numbers = more
	x.q, x.k, x.v = x.swapped("q", n.Inputs[0]), x.shared("k", n.Inputs[1]), x.shared("v", n.Inputs[2])
	return x
}

func (x *expansion) op(op, name string, dims []graph.Dim, attrs graph.Attrs, in ...graph.Output) graph.Output {
	if attrs == nil {
		attrs = graph.Attrs{"T": x.d}
	}
	return x.Op(op, x.name+"/"+name, graph.Type{DType: x.d, Shape: graph.Shape{Dims: dims}}, attrs, in...)
}

func (x *expansion) ints(name string, v ...int32) graph.Output {
	t, _ := tensor.FromSlice(v, len(v))
	return x.Const(x.name+"/"+name, t)
}

// like is an op of two operands whose result has the first one's shape.
func (x *expansion) like(op, name string, a, b graph.Output) graph.Output {
	return x.op(op, name, a.Shape().Dims, nil, a, b)
}

func (x *expansion) scalar(name string, v float64) graph.Output {
	return x.Scalar(x.name+"/"+name, x.d, v)
}

// swapped exchanges heads and length.
func (x *expansion) swapped(name string, t graph.Output) graph.Output {
	d := t.Shape().Dims
	return x.op("Transpose", name+"/transpose", []graph.Dim{d[0], d[2], d[1], d[3]}, graph.Attrs{"T": x.d, "Tperm": tensor.Int32},
		t, x.ints(name+"/perm", 0, 2, 1, 3))
}

// shared is swapped for keys or values, with each head repeated for the query heads that share it.
func (x *expansion) shared(name string, t graph.Output) graph.Output {
	t = x.swapped(name, t)
	each := x.heads / x.groups
	if each == 1 {
		return t
	}
	d := t.Shape().Dims
	wide := []graph.Dim{d[0], d[1], graph.Fixed(1), d[2], d[3]}
	t = x.op("ExpandDims", name+"/share", wide, graph.Attrs{"T": x.d, "Tdim": tensor.Int32}, t, x.Scalar(x.name+"/"+name+"/axis", tensor.Int32, 2))
	many := []graph.Dim{d[0], d[1], graph.Fixed(each), d[2], d[3]}
	t = x.op("Tile", name+"/tile", many, graph.Attrs{"T": x.d, "Tmultiples": tensor.Int32}, t, x.ints(name+"/multiples", 1, 1, int32(each), 1, 1))
	return x.reshape(name+"/heads", t, d[0], graph.Fixed(x.heads), d[2], d[3])
}

// reshape may leave the first dimension open.
func (x *expansion) reshape(name string, t graph.Output, dims ...graph.Dim) graph.Output {
	sizes := make([]int32, len(dims))
	for i, d := range dims {
		sizes[i] = int32(d.Const)
		if !d.Static() {
			sizes[i] = -1
		}
	}
	return x.op("Reshape", name, dims, graph.Attrs{"T": x.d, "Tshape": tensor.Int32}, t, x.ints(name+"/shape", sizes...))
}

// product is a·b over the last two dimensions; ta and tb transpose an operand first.
func (x *expansion) product(name string, a, b graph.Output, ta, tb bool) graph.Output {
	da, db := a.Shape().Dims, b.Shape().Dims
	rows, cols := da[2], db[3]
	if ta {
		rows = da[3]
	}
	if tb {
		cols = db[2]
	}
	return x.op("BatchMatMulV2", name, []graph.Dim{da[0], da[1], rows, cols}, graph.Attrs{"T": x.d, "adj_x": ta, "adj_y": tb}, a, b)
}

func (x *expansion) scale() graph.Output {
	return x.scalar("scale", 1/math.Sqrt(float64(x.q.Shape().Dims[3].Const)))
}

// weights are the softmax, [batch, heads, queries, keys].
func (x *expansion) weights() graph.Output {
	s := x.product("scores", x.q, x.k, false, true)
	s = x.like("Mul", "scaled", s, x.scale())
	d := s.Shape().Dims
	if x.sees(d[2].Const, d[3].Const); x.seen.Valid() {
		s = x.op("SelectV2", "masked", d, nil, x.seen, s, x.scalar("hidden", hidden))
	}
	p := x.op("Softmax", "weights", d, nil, s)
	if x.mask.Valid() { // a query that sees nothing gets zeros
		there := x.Op("Cast", x.name+"/seen", graph.Type{DType: x.d, Shape: x.seen.Shape()}, graph.Attrs{"SrcT": tensor.Bool, "DstT": x.d, "Truncate": false}, x.seen)
		p = x.like("Mul", "visible", p, there)
	}
	if x.rate > 0 {
		x.keeps(p)
	}
	return p
}

// sees sets seen to the caller's mask and, where causal, the mask of earlier positions.
func (x *expansion) sees(queries, keys int) {
	x.seen = x.mask
	if !x.causal {
		return
	}
	t := tensor.New(tensor.Bool, 1, 1, queries, keys)
	for i := range queries {
		for k := 0; k <= i && k < keys; k++ {
			tensor.Values[bool](t)[i*keys+k] = true
		}
	}
	before := x.Const(x.name+"/before", t)
	if x.seen = before; x.mask.Valid() {
		m := x.mask.Shape().Dims
		both := graph.Shape{Dims: []graph.Dim{m[0], m[1], graph.Fixed(queries), graph.Fixed(keys)}}
		x.seen = x.Op("LogicalAnd", x.name+"/both", graph.Type{DType: tensor.Bool, Shape: both}, graph.Attrs{}, x.mask, before)
	}
}

// keeps adds the ops for the factors that dropout multiplies the weights by.
func (x *expansion) keeps(p graph.Output) {
	d := p.Shape()
	shape := x.Op("Shape", x.name+"/shape", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(4)}, graph.Attrs{"T": x.d, "out_type": tensor.Int32}, p)
	alg := x.Const(x.name+"/alg", tensor.Scalar(int32(1)))
	u := x.op("StatelessRandomUniformV2", "uniform", d.Dims, graph.Attrs{"dtype": x.d, "Tshape": tensor.Int32}, shape, x.numbers[0], x.numbers[1], alg)
	keep := x.Op("GreaterEqual", x.name+"/keep", graph.Type{DType: tensor.Bool, Shape: d}, graph.Attrs{"T": x.d}, u, x.scalar("rate", x.rate))
	ones := x.Op("Cast", x.name+"/kept", graph.Type{DType: x.d, Shape: d}, graph.Attrs{"SrcT": tensor.Bool, "DstT": x.d, "Truncate": false}, keep)
	x.kept = x.like("Mul", "dropout", ones, x.scalar("rest", 1/(1-x.rate)))
}

// dropped applies dropout to weights or their gradient.
func (x *expansion) dropped(name string, p graph.Output) graph.Output {
	if !x.kept.Valid() {
		return p
	}
	return x.like("Mul", name, p, x.kept)
}

func (x *expansion) forward() graph.Output {
	p := x.weights()
	return x.swapped("out", x.product("values", x.dropped("dropped", p), x.v, false, false))
}

// backward returns the gradients of queries, keys and values.
func (x *expansion) backward(dout graph.Output) []graph.Output {
	do := x.swapped("dout", dout)
	p := x.weights()
	dv := x.product("dv", x.dropped("dropped", p), do, true, false)
	dp := x.dropped("ddropped", x.product("dp", do, x.v, false, true))
	d := p.Shape().Dims
	mean := x.op("Sum", "mean", []graph.Dim{d[0], d[1], d[2], graph.Fixed(1)}, graph.Attrs{"T": x.d, "Tidx": tensor.Int32, "keep_dims": true},
		x.like("Mul", "weighted", dp, p), x.ints("last", -1))
	ds := x.like("Mul", "ds", x.like("Mul", "dsoftmax", x.like("Sub", "centred", dp, mean), p), x.scale())
	dq, dk := x.product("dq", ds, x.k, false, false), x.product("dk", ds, x.q, true, false)
	return []graph.Output{x.swapped("dq", dq), x.swapped("dk", x.gathered("dk", dk)), x.swapped("dv", x.gathered("dv", dv))}
}

// gathered sums gradients over the query heads that share a head of keys and values.
func (x *expansion) gathered(name string, t graph.Output) graph.Output {
	each := x.heads / x.groups
	if each == 1 {
		return t
	}
	d := t.Shape().Dims
	t = x.reshape(name+"/groups", t, d[0], graph.Fixed(x.groups), graph.Fixed(each), d[2], d[3])
	return x.op("Sum", name+"/sum", []graph.Dim{d[0], graph.Fixed(x.groups), d[2], d[3]}, graph.Attrs{"T": x.d, "Tidx": tensor.Int32, "keep_dims": false},
		t, x.ints(name+"/shared", 2))
}
