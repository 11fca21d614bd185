package columngraph

import (
	"slices"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// crossNodes are the inputs of a SparseCross.
type crossNodes struct {
	indices, values, shapes, dense []graph.Output
}

// add adds a part, like newPart: in the op, too, dense features come last.
func (x *crossNodes) add(e *emitter, leaf feature.Column) {
	k, ok := leaf.(feature.Key)
	if ok && e.raw[string(k)].Sparse == nil {
		x.dense = append(x.dense, e.at(string(k)).integers(e.matrix(string(k))))
		return
	}
	var l listNodes
	if ok {
		l = e.all(string(k))
		l.values = e.at(string(k)).integers(l.values)
	} else {
		l = e.ids(leaf, false)
	}
	x.indices, x.values, x.shapes = append(x.indices, l.indices), append(x.values, l.values), append(x.shapes, l.shape)
}

// internal is string if all parts are strings, as the op requires.
func (x *crossNodes) internal() tensor.DType {
	for _, v := range slices.Concat(x.values, x.dense) {
		if v.DType() != tensor.String {
			return v.DType()
		}
	}
	return tensor.String
}

func (e *emitter) crossed(c *feature.Crossed) listNodes {
	return emitOnce(e, listOf{column: c}, func() listNodes {
		e := e.at(c.Name())
		var x crossNodes
		for _, leaf := range c.Leaves() {
			x.add(e, leaf)
		}
		seed := c.HashKey
		if seed == 0 {
			seed = feature.DefaultHashKey
		}
		attrs := graph.Attrs{"N": int64(len(x.indices)), "hashed_output": true, "num_buckets": int64(c.Size), "hash_key": int64(seed),
			"sparse_types": typesOf(x.values), "dense_types": typesOf(x.dense), "out_type": tensor.Int64, "internal_type": x.internal()}
		out := []graph.Type{{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}},
			{DType: tensor.Int64, Shape: vector}, {DType: tensor.Int64, Shape: graph.ShapeOf(2)}}
		n := e.b.Node("SparseCross", e.scope+"cross", out, attrs, slices.Concat(x.indices, x.values, x.shapes, x.dense)...)
		return listNodes{e: e, indices: n.Out(0), values: n.Out(1), shape: n.Out(2)}
	})
}

// typesOf returns the types of values, as an attribute.
func typesOf(values []graph.Output) any {
	if len(values) == 0 {
		return graph.EmptyList{}
	}
	out := make([]tensor.DType, len(values))
	for i, v := range values {
		out[i] = v.DType()
	}
	return out
}
