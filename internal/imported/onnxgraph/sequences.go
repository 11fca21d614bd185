package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sequenceOperators work on sequences. Sequences of known length leave no trace in the translated model; others become lists of tensors.
func sequenceOperators() operators {
	return operators{
		"SequenceConstruct": one(sequenceConstruct), "SequenceEmpty": one(sequenceEmpty), "SequenceAt": one(sequenceAt), "SequenceLength": one(sequenceLength),
		"SequenceInsert": one(sequenceInsert), "SequenceErase": one(sequenceErase), "ConcatFromSequence": one(concatFromSequence), "SplitToSequence": one(splitToSequence), "SequenceMap": as(sequenceMap),
	}
}

// sequence returns an input that is a sequence.
func (x *site) sequence(i int) *value {
	v := x.any(i)
	if !v.seq && v.list == nil {
		refuse("input %d: expected a sequence", i)
	}
	return v
}

// fixedPlace reports whether input i, an index into a sequence, is absent or constant.
func (x *site) fixedPlace(i int) bool { return !x.has(i) || x.at(i).fixed() != nil }

// sequenceOf is a sequence of tensors. Its items count as nodes, since each node may copy another sequence's items.
func (x *site) sequenceOf(items []*value) *value {
	for _, v := range items {
		if v.seq || v.list != nil || v.keys != nil {
			refuse("a sequence of sequences or maps: expected one of tensors")
		}
	}
	x.t.count(len(items))
	return x.add(&value{seq: true, items: items})
}

func sequenceConstruct(x *site) *value {
	var items []*value
	for i := range x.in {
		items = append(items, x.at(i))
	}
	return x.sequenceOf(items)
}

func sequenceEmpty(x *site) *value {
	v := x.sequenceOf(nil)
	v.list = &element{dtype: x.dtype("dtype", tensor.Float32), never: true}
	return v
}

// place returns a constant index into a sequence of n values, or def if the input is absent.
func (x *site) place(i, n, def int) int {
	if !x.has(i) {
		return def
	}
	p := x.knownInts(i)
	if len(p) != 1 || p[0] < -n || p[0] > n {
		refuse("place %v in a sequence of %d", p, n)
	}
	if p[0] < 0 {
		return p[0] + n
	}
	return p[0]
}

func sequenceAt(x *site) *value {
	u := x.sequence(0)
	if !u.seq || !x.fixedPlace(1) {
		return x.elementAt(x.opened(u), x.at(1))
	}
	at := x.place(1, len(u.items), 0)
	if at >= len(u.items) {
		refuse("place %d in a sequence of %d", at, len(u.items))
	}
	return u.items[at]
}

func sequenceLength(x *site) *value {
	u := x.sequence(0)
	if !u.seq {
		return x.cast(x.op(ops.TensorListLength, nil, u), tensor.Int64)
	}
	return constant(tensor.Scalar(int64(len(u.items))))
}

func sequenceInsert(x *site) *value {
	u := x.sequence(0)
	if !u.seq || !x.fixedPlace(2) {
		return x.inserted(x.opened(u), x.at(1), optional(x, 2))
	}
	return x.sequenceOf(slices.Insert(slices.Clone(u.items), x.place(2, len(u.items), len(u.items)), x.at(1)))
}

func sequenceErase(x *site) *value {
	u := x.sequence(0)
	if !u.seq || !x.fixedPlace(1) {
		return x.erased(x.opened(u), optional(x, 1))
	}
	at := x.place(1, len(u.items), len(u.items)-1)
	if at < 0 || at >= len(u.items) {
		refuse("place %d in a sequence of %d", at, len(u.items))
	}
	return x.sequenceOf(slices.Delete(slices.Clone(u.items), at, at+1))
}

func concatFromSequence(x *site) *value {
	u, axis, stack := x.sequence(0), x.int("axis", 0), x.flag("new_axis", false)
	switch {
	case !u.seq:
		return x.joined(u, axis, stack)
	case len(u.items) == 0:
		refuse("an empty sequence")
	case stack:
		return x.op(ops.Pack, graph.Attrs{"axis": int64(axis)}, slices.Clone(u.items)...)
	}
	return x.concat(axis, u.items...)
}

// splitToSequence splits into parts of given sizes, of one size, or of one element, whose axis may then be removed.
func splitToSequence(x *site) *value {
	u, keep := x.at(0), x.flag("keepdims", true)
	axis := axisOf(x.int("axis", 0), x.rank(0))
	dims := u.dims()
	if dims[axis] < 0 || !x.fixedPlace(1) {
		return x.splitOpen(u, optional(x, 1), axis, keep)
	}
	sizes, n := x.knownInts(1), dims[axis]
	if each := 1; sizes == nil || x.at(1).rank() == 0 {
		if sizes != nil {
			each = max(sizes[0], 1)
		}
		if n > 0 && (n-1)/each >= ops.MaxParts {
			refuse("%d parts: expected at most %d", (n-1)/each+1, ops.MaxParts)
		}
		sizes = nil
		for at := 0; at < n; at += each {
			sizes = append(sizes, min(each, n-at))
		}
	}
	if len(sizes) == 0 || len(sizes) > ops.MaxParts {
		refuse("%d parts", len(sizes))
	}
	parts := x.ops(ops.SplitV, graph.Attrs{"num_split": int64(len(sizes)), "Tlen": tensor.Int32}, u, x.ints(sizes...), x.i32(axis))
	if !x.has(1) && !keep {
		for i, p := range parts {
			parts[i] = x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{int64(axis)}}, p)
		}
	}
	return x.sequenceOf(parts)
}
