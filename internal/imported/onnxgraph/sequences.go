package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sequenceOperators work on sequences whose lengths are known; they are gone once a model is translated.
var sequenceOperators = operators{
	"SequenceConstruct": one(sequenceConstruct), "SequenceEmpty": one(sequenceEmpty), "SequenceAt": one(sequenceAt).but("places that are not constant"),
	"SequenceLength": one(sequenceLength), "SequenceInsert": one(sequenceInsert).but("places that are not constant"), "SequenceErase": one(sequenceErase).but("places that are not constant"),
	"ConcatFromSequence": one(concatFromSequence), "SplitToSequence": one(splitToSequence).but("parts whose number is not known"),
}

// sequence returns the values of an input that is a sequence.
func (x *site) sequence(i int) []*value {
	if !x.has(i) || !x.in[i].seq {
		refuse("input %d: expected a sequence of known length", i)
	}
	return x.in[i].items
}

// sequenceOf is a sequence of tensors. Its items count as nodes, since each node may copy those of another one.
func (x *site) sequenceOf(items []*value) *value {
	for _, v := range items {
		if v.seq || v.keys != nil {
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
	x.attr("dtype")
	return x.sequenceOf(nil)
}

// place returns a constant place in a sequence of n values, def where the input is absent.
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
	items := x.sequence(0)
	at := x.place(1, len(items), 0)
	if at >= len(items) {
		refuse("place %d in a sequence of %d", at, len(items))
	}
	return items[at]
}

func sequenceLength(x *site) *value { return constant(tensor.Scalar(int64(len(x.sequence(0))))) }

func sequenceInsert(x *site) *value {
	items := x.sequence(0)
	return x.sequenceOf(slices.Insert(slices.Clone(items), x.place(2, len(items), len(items)), x.at(1)))
}

func sequenceErase(x *site) *value {
	items := x.sequence(0)
	at := x.place(1, len(items), len(items)-1)
	if at < 0 || at >= len(items) {
		refuse("place %d in a sequence of %d", at, len(items))
	}
	return x.sequenceOf(slices.Delete(slices.Clone(items), at, at+1))
}

func concatFromSequence(x *site) *value {
	items, axis := x.sequence(0), x.int("axis", 0)
	if len(items) == 0 {
		refuse("an empty sequence")
	}
	if x.flag("new_axis", false) {
		return x.op(ops.Pack, graph.Attrs{"axis": int64(axis)}, slices.Clone(items)...)
	}
	return x.concat(axis, items...)
}

// splitToSequence cuts into parts of given sizes, of one size, or of one element, whose axis then goes.
func splitToSequence(x *site) *value {
	u, keep := x.at(0), x.flag("keepdims", true)
	axis := axisOf(x.int("axis", 0), x.rank(0))
	dims := u.dims()
	if dims[axis] < 0 {
		refuse("the size of axis %d is not known", axis)
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
