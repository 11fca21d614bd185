package export

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// emitter adds nodes to a graph.
type emitter struct{ *graph.Builder }

// vector returns a type of rank 1 and unknown length.
func vector(d tensor.DType) graph.Type { return ofRank(d, graph.Unknown) }

func ofRank(d tensor.DType, dims ...graph.Dim) graph.Type {
	return graph.Type{DType: d, Shape: graph.Shape{Dims: dims}}
}

// ints adds an int32 vector.
func (e emitter) ints(name string, v ...int32) graph.Output {
	t, _ := tensor.FromSlice(v, len(v))
	return e.Const(name, t)
}

// strings adds a vector of strings.
func (e emitter) strings(name string, v ...string) graph.Output {
	t := tensor.New(tensor.String, len(v))
	for i, s := range v {
		t.Strings[i] = []byte(s)
	}
	return e.Const(name, t)
}

// text adds a string.
func (e emitter) text(name, v string) graph.Output {
	return e.Const(name, &tensor.Tensor{DType: tensor.String, Strings: [][]byte{[]byte(v)}})
}

func (e emitter) identity(name string, x graph.Output, after ...*graph.Node) graph.Output {
	out := e.Op("Identity", name, x.Type(), graph.Attrs{"T": x.DType()}, x)
	if out.Valid() {
		out.Node.Control = after
	}
	return out
}

// cast converts x to type d, which it may have already.
func (e emitter) cast(name string, x graph.Output, d tensor.DType) graph.Output {
	if !x.Valid() || x.DType() == d {
		return x
	}
	return e.Op("Cast", name, graph.Type{DType: d, Shape: x.Shape()}, graph.Attrs{"SrcT": x.DType(), "DstT": d, "Truncate": false}, x)
}

// like adds an elementwise op whose result has the shape of x and the type d.
func (e emitter) like(op, name string, d tensor.DType, x, y graph.Output) graph.Output {
	if !x.Valid() {
		return x
	}
	return e.Op(op, name, graph.Type{DType: d, Shape: x.Shape()}, graph.Attrs{"T": x.DType()}, x, y)
}

// choose adds a SelectV2 whose result has a's type and shape.
func (e emitter) choose(name string, cond, a, b graph.Output) graph.Output {
	if !a.Valid() {
		return a
	}
	return e.Op("SelectV2", name, a.Type(), graph.Attrs{"T": a.DType()}, cond, a, b)
}
