package columngraph

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// listNodes is a ragged list in a graph: a sparse tensor of rank 2.
type listNodes struct {
	e       *emitter
	values  graph.Output
	indices graph.Output // int64 [n, 2]: row, and position in the row
	shape   graph.Output // int64 [2]
	weights graph.Output // float32 [n]; the zero Output: none
	absent  bool         // ids may be -1, which means none
}

// tokensOf is the key for the tokens of a feature, listOf for the ids of a column.
type (
	tokensOf struct {
		key   string
		steps bool
	}
	listOf struct{ column feature.Column }
)

// matrix returns a dense raw feature as [B, n].
func (e *emitter) matrix(key string) graph.Output {
	type matrixOf string
	return emitOnce(e, matrixOf(key), func() graph.Output {
		e, x := e.at(key), e.raw[key].Dense
		s := x.Shape()
		n, known := rowSize(s)
		width := graph.Unknown
		if known {
			width = graph.Fixed(n)
		}
		to := graph.Shape{Dims: []graph.Dim{s.Dims[0], width}}
		switch s.Rank() {
		case 1:
			return e.expand("expand", x, 1, to)
		case 2:
			return x
		}
		return e.reshape("flat", x, to, -1, int64(n))
	})
}

// places lists the elements of a dense tensor that a mask selects.
func (e *emitter) places(x, mask graph.Output) listNodes {
	indices := e.where("places", mask)
	return listNodes{e: e, values: e.gatherAt("values", x, indices), indices: indices, shape: e.shapeOf("shape", x)}
}

// listed returns a sparse tensor as a list.
func (e *emitter) listed(s SparseTensor) listNodes {
	return listNodes{e: e, values: s.Values, indices: s.Indices, shape: s.DenseShape}
}

// all lists all values of a feature.
func (e *emitter) all(key string) listNodes {
	type allOf string
	return emitOnce(e, allOf(key), func() listNodes {
		e := e.at(key)
		if s := e.raw[key].Sparse; s != nil {
			return e.listed(*s)
		}
		x := e.matrix(key)
		yes := e.constant("all", tensor.Scalar(true), nil)
		mask := e.op("Fill", "every", graph.Type{DType: tensor.Bool, Shape: x.Shape()},
			graph.Attrs{"T": tensor.Bool, "index_type": tensor.Int64}, e.shapeOf("dims", x), yes)
		return e.places(x, mask)
	})
}

// tokens lists the present values of a feature, like batch.tokens, with
// integers as int64. With steps, steps of a sequence without a value keep their
// place, except at the end; here is false for them.
func (e *emitter) tokens(key string, steps bool) (l listNodes, here graph.Output) {
	type tokenNodes struct {
		list listNodes
		here graph.Output
	}
	t := emitOnce(e, tokensOf{key, steps}, func() tokenNodes {
		e := e.at(key)
		if s := e.raw[key].Sparse; s != nil {
			l := e.listed(*s)
			l.values = e.integers(l.values)
			return tokenNodes{list: l}
		}
		x := e.integers(e.matrix(key))
		var none graph.Output
		if x.DType() == tensor.String {
			none = e.texts("none", [][]byte{{}})
		} else {
			none = e.scalar("none", -1)
		}
		mask := e.compare("NotEqual", "present", x, none)
		if !steps {
			return tokenNodes{list: e.places(x, mask)}
		}
		l := e.places(x, e.untilLast(mask))
		return tokenNodes{list: l, here: e.gatherAt("here", mask, l.indices)}
	})
	return t.list, t.here
}

// integers returns integers as int64, and strings unchanged.
func (e *emitter) integers(x graph.Output) graph.Output {
	if x.DType() == tensor.String {
		return x
	}
	return e.cast("int64", x, tensor.Int64)
}

// untilLast returns a mask that is true in each row up to the last true element.
func (e *emitter) untilLast(mask graph.Output) graph.Output {
	width := e.element("width", e.shapeOf("mask_shape", mask), 1)
	place := e.span("place", width, mask.Shape().Dims[1])
	last := e.selected("last_places", mask, place, e.scalar("before", -1))
	last = e.op("Max", "last", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{mask.Shape().Dims[0], graph.Fixed(1)}}},
		graph.Attrs{"T": tensor.Int64, "Tidx": tensor.Int32, "keep_dims": true}, last, e.axis("last/axis", 1))
	return e.op("LessEqual", "until_last", mask.Type(), graph.Attrs{"T": tensor.Int64}, place, last)
}

// rows is the number of rows, of rank 0.
func (l listNodes) rows() graph.Output {
	type rowsOf struct{ shape graph.Output }
	return emitOnce(l.e, rowsOf{l.shape}, func() graph.Output { return l.e.element("rows", l.shape, 0) })
}

// row is the row of each value.
func (l listNodes) row() graph.Output {
	type rowOf struct{ indices graph.Output }
	return emitOnce(l.e, rowOf{l.indices}, func() graph.Output { return l.e.column("row", l.indices, 0) })
}

// emitted returns values of the list, or its weights, with the positions of the rows.
func (l listNodes) emitted(values graph.Output) Emitted {
	return Emitted{Values: values, Offsets: l.offsets(), Rows: l.row(), Bounds: l.bounds()}
}

// bounds is the number of offsets, of rank 0.
func (l listNodes) bounds() graph.Output {
	type boundsOf struct{ shape graph.Output }
	return emitOnce(l.e, boundsOf{l.shape}, func() graph.Output { return l.e.binary("AddV2", "bounds_count", l.rows(), l.e.scalar("one", 1)) })
}

// offsets is int64 [B+1]: the position at which each row's values begin.
func (l listNodes) offsets() graph.Output {
	type offsetsOf struct{ indices, shape graph.Output }
	return emitOnce(l.e, offsetsOf{l.indices, l.shape}, func() graph.Output {
		e := l.e
		bounds := graph.Dim{PerBatch: 1, Const: 1}
		to := graph.Shape{Dims: []graph.Dim{graph.Fixed(1), bounds}}
		numbers := e.span("bounds", l.bounds(), bounds)
		found := e.op("LowerBound", "offsets_row", graph.Type{DType: tensor.Int64, Shape: to}, graph.Attrs{"T": tensor.Int64, "out_type": tensor.Int64},
			e.expand("sorted", l.row(), 0, graph.Shape{Dims: []graph.Dim{graph.Fixed(1), graph.Unknown}}), e.expand("wanted", numbers, 0, to))
		return e.reshape("offsets", found, graph.Shape{Dims: []graph.Dim{bounds}}, -1)
	})
}

// present leaves out ids of -1 and, if positive is set, ids whose weight is not positive.
func (l listNodes) present(positive bool) listNodes {
	type presentOf struct {
		values, weights graph.Output
		positive        bool
	}
	positive = positive && l.weights.Valid()
	if !l.absent && !positive {
		return l
	}
	return emitOnce(l.e, presentOf{l.values, l.weights, positive}, func() listNodes {
		e := l.e
		var mask graph.Output
		if l.absent {
			mask = e.compare("GreaterEqual", "known", l.values, e.scalar("first", 0))
		}
		if positive {
			heavy := e.compare("Greater", "heavy", l.weights, e.floats("nothing", []float32{0}))
			if mask.Valid() {
				heavy = e.op("LogicalAnd", "known_and_heavy", mask.Type(), nil, mask, heavy)
			}
			mask = heavy
		}
		at := e.reshape("kept", e.where("kept_places", mask), vector, -1)
		out := listNodes{e: e, values: e.gather("ids", l.values, at), indices: e.gather("indices", l.indices, at), shape: l.shape}
		if l.weights.Valid() {
			out.weights = e.gather("weights", l.weights, at)
		}
		return out
	})
}
