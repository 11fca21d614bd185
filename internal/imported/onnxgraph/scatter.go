package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// scatterOperators write elements at indices.
var scatterOperators = operators{"Scatter": one(scatterElements), "ScatterElements": one(scatterElements), "ScatterND": one(scatterND)}

// scatterOps update a tensor, by the reduction's name; there is none for products.
var scatterOps = map[string]*ops.Def{"none": ops.TensorScatterUpdate, "add": ops.TensorScatterAdd, "max": ops.TensorScatterMax, "min": ops.TensorScatterMin, "mul": nil}

func (x *site) scatterOp() *ops.Def {
	name := x.str("reduction", "none")
	d, known := scatterOps[name]
	if !known {
		refuse("reduction %s", name)
	}
	return d
}

// productsOf multiplies each row of data by all its updates, in order. For booleans it is the logical and.
func (x *site) productsOf(data, at, updates *value) *value {
	if data.dtype == tensor.Bool {
		return x.cast(x.productsOf(x.cast(data, tensor.Int32), at, x.cast(updates, tensor.Int32)), tensor.Bool)
	}
	n := x.size(data, 0)
	rows := x.op(ops.Range, nil, x.i32(0), n, x.i32(1))
	return x.op(ops.UnsortedSegmentProd, nil, x.concat(0, data, updates), x.concat(0, rows, x.narrow(at)), n)
}

func scatterElements(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	axis := axisOf(x.int("axis", 0), rank)
	at := x.linear(u, x.wrapped(x.at(1), x.size(u, axis)), axis)
	flat, places, updates := x.reshape(u, -1), x.reshape(at, -1), x.reshape(x.at(2), -1)
	if d := x.scatterOp(); d != nil {
		flat = x.op(d, nil, flat, x.op(ops.ExpandDims, nil, places, x.i32(1)), updates)
	} else {
		flat = x.productsOf(flat, places, updates)
	}
	return x.op(ops.Reshape, nil, flat, x.shape(u))
}

func scatterND(x *site) *value {
	u, at, updates := x.at(0), x.at(1), x.at(2)
	k := lastSize(at)
	if ranks := []int{u.rank(), at.rank(), updates.rank()}; k < 0 && slices.Min(ranks) >= 0 {
		k = ranks[0] - (ranks[2] - (ranks[1] - 1)) // an update has the axes that an index does not cover
	}
	places := x.places(u, at, k, 0)
	if d := x.scatterOp(); d != nil {
		return x.op(d, nil, u, places, updates)
	}
	return x.multipliedND(u, places, updates, k)
}

// multipliedND multiplies slices, each selected by k indices, as rows of a matrix.
func (x *site) multipliedND(u, places, updates *value, k int) *value {
	rank := x.rank(0)
	part := func(from, to int) *value {
		return x.op(ops.StridedSlice, nil, x.shape(u), x.ints(from), x.ints(to), x.ints(1))
	}
	count := func(sizes *value) *value { return x.op(ops.Prod, nil, sizes, x.ints(0)) }
	rows, columns := count(part(0, k)), count(part(k, rank))
	numbers := x.op(ops.Reshape, nil, x.op(ops.Range, nil, x.i32(0), rows, x.i32(1)), part(0, k))
	at := x.reshape(x.op(ops.GatherNd, nil, numbers, places), -1)
	y := x.productsOf(x.op(ops.Reshape, nil, u, x.pack(rows, columns)), at, x.op(ops.Reshape, nil, updates, x.pack(x.size(at, 0), columns)))
	return x.op(ops.Reshape, nil, y, x.shape(u))
}
