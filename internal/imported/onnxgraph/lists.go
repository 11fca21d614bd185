package onnxgraph

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// element is what is known about all tensors of a list.
type element struct {
	dtype tensor.DType
	dims  []int // sizes, -1 for open ones; nil if the rank is not known
	never bool  // there are none
}

// or returns what is known about tensors of either list.
func (e *element) or(f *element) *element {
	switch {
	case e == nil || f == nil:
		return nil
	case e.dtype != f.dtype:
		refuse("sequences of %v and %v", e.dtype, f.dtype)
	case e.never:
		return f
	case f.never:
		return e
	case e.dims == nil || len(e.dims) != len(f.dims):
		return &element{dtype: e.dtype}
	}
	both := &element{dtype: e.dtype, dims: slices.Clone(e.dims)}
	for i, n := range f.dims {
		if both.dims[i] != n {
			both.dims[i] = -1
		}
	}
	return both
}

func (e *element) equal(f *element) bool {
	return e.dtype == f.dtype && e.never == f.never && (e.dims == nil) == (f.dims == nil) && slices.Equal(e.dims, f.dims)
}

func elementOf(v *value) *element {
	if v.seq || v.list != nil || v.keys != nil || v.four != tensor.Invalid {
		refuse("a sequence of sequences, of maps or of elements of 4 bits: expected one of tensors")
	}
	return &element{dtype: v.dtype, dims: v.dims()}
}

// elementShape returns the shape of the elements, as the list ops take it.
func (b *builder) elementShape(e *element) *value {
	if e.dims == nil {
		return b.i32(-1)
	}
	return b.ints(e.dims...)
}

// sizedAs notes what is known about a tensor that is an element.
func (x *site) sizedAs(y *value, e *element) *value {
	if e.dims == nil {
		return y
	}
	return x.sized(y, e.dims)
}

// opened makes a list of a sequence of known length; other values stay.
func (x *site) opened(v *value) *value {
	if !v.seq {
		return v
	}
	e := v.list
	for _, item := range v.items {
		if f := elementOf(item); e == nil {
			e = f
		} else {
			e = e.or(f)
		}
	}
	if e == nil {
		refuse("an empty sequence of an unknown type")
	}
	list := x.builder.list(e.dtype)
	for _, item := range v.items {
		list = x.append(list, item)
	}
	list.list = e
	return list
}

// wrappedPlace returns an index as int32; a negative one counts from the end.
func (x *site) wrappedPlace(at, n *value) *value {
	return x.wrapped(x.op(ops.Reshape, nil, x.narrow(at), x.ints()), n)
}

func (x *site) elementAt(list, at *value) *value {
	return x.element(list, x.wrappedPlace(at, x.op(ops.TensorListLength, nil, list)))
}

// element returns one tensor of a list.
func (x *site) element(list, at *value) *value {
	y := x.op(ops.TensorListGetItem, graph.Attrs{"element_dtype": list.list.dtype}, list, at, x.elementShape(list.list))
	return x.sizedAs(y, list.list)
}

// tabulated returns a list of n tensors, made from their indices; like is what is known about them, nil if item tells.
func (x *site) tabulated(n *value, d tensor.DType, like *element, item func(x *site, at *value) *value) *value {
	first := []*value{x.i32(0), x.builder.list(d)}
	out := x.loop(first, []probes{x.i32(0).known, {}},
		func(x *site, now []*value) *value { return x.op(ops.Less, nil, now[0], x.own(n)) },
		func(x *site, now []*value) []*value {
			v := item(x, now[0])
			if like == nil {
				like = elementOf(v)
			}
			return []*value{x.op(ops.AddV2, nil, now[0], x.i32(1)), x.append(now[1], v)}
		})
	out[1].list = like
	return out[1]
}

// inserted inserts a tensor before an index, or at the end.
func (x *site) inserted(list, v, at *value) *value {
	e := list.list.or(elementOf(v))
	if at == nil {
		y := x.append(list, v)
		y.list = e
		return y
	}
	n := x.op(ops.TensorListLength, nil, list)
	at = x.wrappedPlace(at, n)
	before := x.tabulated(at, e.dtype, e, func(x *site, i *value) *value { return x.element(x.own(list), i) })
	rest := x.op(ops.Sub, nil, n, at)
	after := x.tabulated(rest, e.dtype, e, func(x *site, i *value) *value { return x.element(x.own(list), x.op(ops.AddV2, nil, i, x.own(at))) })
	return x.following(x.append(before, v), after, e)
}

// erased removes the tensor at an index, or the last one.
func (x *site) erased(list, at *value) *value {
	e, n := list.list, x.op(ops.TensorListLength, nil, list)
	if at == nil {
		at = x.i32(-1)
	}
	at = x.wrappedPlace(at, n)
	last := x.op(ops.Sub, nil, n, x.i32(1))
	at = x.op(ops.GatherV2, nil, x.op(ops.Range, nil, x.i32(0), n, x.i32(1)), at, x.i32(0)) // refuses indices out of range
	return x.tabulated(last, e.dtype, e, func(x *site, i *value) *value {
		behind := x.cast(x.op(ops.GreaterEqual, nil, i, x.own(at)), tensor.Int32)
		return x.element(x.own(list), x.op(ops.AddV2, nil, i, behind))
	})
}

// following appends the tensors of another list.
func (x *site) following(list, after *value, e *element) *value {
	first := []*value{x.i32(0), list}
	out := x.loop(first, []probes{x.i32(0).known, {}},
		func(x *site, now []*value) *value {
			return x.op(ops.Less, nil, now[0], x.op(ops.TensorListLength, nil, x.own(after)))
		},
		func(x *site, now []*value) []*value {
			return []*value{x.op(ops.AddV2, nil, now[0], x.i32(1)), x.append(now[1], x.element(x.own(after), now[0]))}
		})
	out[1].list = e
	return out[1]
}

// joined concatenates the tensors of a list along an axis, or stacks them along a new one.
func (x *site) joined(list *value, axis int, stack bool) *value {
	e := list.list
	if e.dims == nil {
		refuse("the rank of the elements of a sequence is not known")
	}
	rank := len(e.dims)
	if stack {
		axis = axisOf(axis, rank+1)
		y := x.op(ops.TensorListStack, graph.Attrs{"element_dtype": e.dtype, "num_elements": int64(-1)}, list, x.elementShape(e))
		return x.transpose(x.sized(y, append([]int{-1}, e.dims...)), slices.Insert(without(rank+1, 0), axis, 0))
	}
	axis = axisOf(axis, rank)
	perm := append([]int{axis}, without(rank, axis)...)
	dims := permuted(e.dims, perm)
	if dims[0] = -1; axis != 0 {
		list = x.tabulated(x.op(ops.TensorListLength, nil, list), e.dtype, nil, func(x *site, i *value) *value { return x.transpose(x.element(x.own(list), i), perm) })
	}
	attrs := graph.Attrs{"element_dtype": e.dtype}
	y := x.ops(ops.TensorListConcatV2, attrs, list, x.ints(dims...), constant(tensor.New(tensor.Int64, 0)))[0]
	return x.transpose(x.sized(y, dims), inverse(perm))
}

// splitOpen returns a list of parts along an axis: with the given sizes, of one size, or of one element, whose axis may be removed.
func (x *site) splitOpen(u, sizes *value, axis int, keep bool) *value {
	rank := u.rank()
	perm := append([]int{axis}, without(rank, axis)...)
	u = x.transpose(x.plain(u), perm)
	dims := slices.Clone(u.dims())
	e := &element{dtype: u.dtype, dims: dims[1:]}
	if sizes == nil && !keep {
		list := x.op(ops.TensorListFromTensor, nil, u, x.elementShape(e))
		list.list = e
		return list
	}
	n := x.cast(x.size(u, 0), tensor.Int64)
	if sizes == nil {
		sizes = constant(tensor.Scalar(int64(1)))
	}
	if sizes = x.cast(sizes, tensor.Int64); sizes.rank() == 0 {
		sizes = x.evenly(n, sizes)
	}
	dims[0] = -1
	whole := &element{dtype: u.dtype, dims: dims}
	list := x.op(ops.TensorListSplit, nil, u, x.elementShape(whole), sizes)
	if list.list = whole; axis == 0 {
		return list
	}
	back := inverse(perm)
	return x.tabulated(x.op(ops.TensorListLength, nil, list), e.dtype, nil, func(x *site, i *value) *value { return x.transpose(x.element(x.own(list), i), back) })
}

// evenly returns the sizes of parts of n elements: all equal, except perhaps the last.
func (x *site) evenly(n, each *value) *value {
	one := constant(tensor.Scalar(int64(1)))
	each = x.op(ops.Maximum, nil, each, one)
	begins := x.op(ops.Range, nil, constant(tensor.Scalar(int64(0))), n, each)
	return x.op(ops.Minimum, nil, each, x.op(ops.Sub, nil, n, begins))
}

// lasting returns the values that a loop carries, with what is known about lists in any iteration: the body may make more general ones.
func (x *site) lasting(g *onnx.Graph, first []*value, known []probes) []*value {
	if !slices.ContainsFunc(first, func(v *value) bool { return v.list != nil }) {
		return first
	}
	first = slices.Clone(first)
	const rounds = 4
	for round := range rounds {
		same := true
		next := x.onceAround(g, first, known)
		for i, v := range first {
			if v.list == nil {
				continue
			}
			e := &element{dtype: v.list.dtype}
			if next != nil && next[i-1].list != nil && round < rounds-1 {
				e = v.list.or(next[i-1].list)
			}
			if !e.equal(v.list) {
				w := *v
				w.list, first[i], same = e, x.add(&w), false
			}
		}
		if same {
			break
		}
	}
	return first
}

// onceAround translates a loop's body on trial, and returns its results, or nil if that failed.
func (x *site) onceAround(g *onnx.Graph, first []*value, known []probes) (next []*value) {
	gaps := maps.Clone(x.t.gaps)
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(refusal); !ok {
				panic(r)
			}
			next = nil
		}
		x.t.gaps = gaps
	}()
	inner := x.inner()
	next = inner.results(g, inner.arguments(first, known))
	for i, v := range next {
		next[i] = inner.opened(inner.own(v))
	}
	return next
}

// sequenceMap runs a graph on the elements of sequences of the same length, and on other values, which all iterations see.
func sequenceMap(x *site) []*value {
	g := x.graphOf("body")
	if len(x.in) == 0 || len(g.Inputs) != len(x.in) {
		refuse("a body of %d inputs for %d values", len(g.Inputs), len(x.in))
	}
	lead := x.sequence(0)
	if !lead.seq {
		return x.mapLists(g)
	}
	made := make([][]*value, len(g.Outputs))
	for i := range lead.items {
		var in []*value
		for k := range x.in {
			v := x.any(k)
			if v.seq {
				if len(v.items) != len(lead.items) {
					refuse("sequences of %d and %d elements", len(lead.items), len(v.items))
				}
				v = v.items[i]
			}
			in = append(in, v)
		}
		here := &site{builder: x.builder, n: x.n, version: x.version, read: x.read, scope: x.t.scope(x.builder, x.scope, x.scope.opsets)}
		here.scope.inFuncs, here.scope.attrs = x.scope.inFuncs, x.scope.attrs
		for k, y := range here.results(g, in) {
			made[k] = append(made[k], y)
		}
	}
	var out []*value
	for _, items := range made {
		out = append(out, x.sequenceOf(items))
	}
	return out
}

// mapLists is sequenceMap for a list.
func (x *site) mapLists(g *onnx.Graph) []*value {
	var in []*value
	for i := range x.in {
		in = append(in, x.opened(x.any(i)))
	}
	n := x.op(ops.TensorListLength, nil, in[0])
	at := func(x *site, i *value) (now []*value) {
		for _, v := range in {
			if v = x.own(v); v.list != nil {
				v = x.element(v, i)
			}
			now = append(now, v)
		}
		return now
	}
	trial := x.inner()
	zero := trial.placeholder("argument", tensor.Int32, constant(tensor.Scalar(int32(0))).known)
	kinds := trial.results(g, at(trial, zero))
	first, known := []*value{x.i32(0)}, []probes{x.i32(0).known}
	for _, y := range kinds {
		first, known = append(first, x.builder.list(elementOf(y).dtype)), append(known, probes{})
	}
	out := x.loop(first, known,
		func(x *site, now []*value) *value { return x.op(ops.Less, nil, now[0], x.own(n)) },
		func(x *site, now []*value) []*value {
			next := []*value{x.op(ops.AddV2, nil, now[0], x.i32(1))}
			for i, y := range x.results(g, at(x, now[0])) {
				next = append(next, x.append(now[i+1], y))
			}
			return next
		})[1:]
	for i, y := range kinds {
		out[i].list = elementOf(y)
	}
	return out
}
