package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// fuseRagged fuses three patterns into one op each: the nodes that number the values of a ragged tensor by example (see
// lower.RowNumbers), the sum of a table's rows by these numbers together with the gather and the weights before it, and
// its gradient. Rows are then summed where they lie. It returns the remaining ops.
func fuseRagged(ops []*op, fetched []port) []*op {
	var dropped []*op
	for _, o := range ops {
		switch {
		case o.feed >= 0:
		case o.node.Op == "SelectV2":
			dropped = append(dropped, o.follow(numberRowsAtOnce(o))...)
		}
	}
	if dropped == nil {
		return ops
	}
	uses := countUses(ops, fetched)
	for _, o := range ops {
		switch {
		case o.feed >= 0:
		case o.node.Op == "UnsortedSegmentSum":
			dropped = append(dropped, o.follow(combineAtOnce(o, uses))...)
		case o.node.Op == "GatherV2" && o.node.Bool(graph.NegativeGivesZeros):
			dropped = append(dropped, o.follow(spreadAtOnce(o))...)
		}
	}
	return withoutUnused(ops, dropped, fetched)
}

// become turns o into another op on other inputs.
func (o *op) become(name string, attrs graph.Attrs, in ...port) {
	o.node = &graph.Node{Name: o.node.Name, Op: name, Device: o.node.Device, Attrs: attrs, Outputs: o.node.Outputs}
	o.in, o.def = in, registry()[name]
}

// follow gives o the control inputs of the ops whose work it does.
func (o *op) follow(done []*op) []*op {
	for _, d := range done {
		o.after = append(o.after, d.after...)
	}
	return done
}

// numberRowsAtOnce turns the last node of lower.RowNumbers into the fused op, and returns the nodes that may then be unused.
func numberRowsAtOnce(o *op) []*op {
	if len(o.in) != 3 || !isScalar(o.in[2], -1) {
		return nil
	}
	there, row := o.in[0].op, o.in[1].op
	if there.node.Op != "GreaterEqual" || len(there.in) != 2 || !isScalar(there.in[1], 0) ||
		row.node.Op != "Sub" || len(row.in) != 2 || !isScalar(row.in[1], 1) {
		return nil
	}
	above := unshaped(row.in[0]).op
	if above.feed >= 0 || above.node.Op != "UpperBound" || len(above.in) != 2 {
		return nil
	}
	at, offsets := unshaped(above.in[1]).op, unshaped(above.in[0])
	if at.feed >= 0 || at.node.Op != "Range" || len(at.in) != 3 || !isScalar(at.in[0], 0) || !isScalar(at.in[2], 1) {
		return nil
	}
	ids := there.in[0]
	n := typeOf(ids).Shape
	single := graph.Shape{Dims: append([]graph.Dim{graph.Fixed(1)}, n.Dims...)}
	if !typeOf(above.in[1]).Shape.Equal(single) || typeOf(above.in[0]).Shape.Rank() != 2 || typeOf(above.in[0]).Shape.Dims[0] != graph.Fixed(1) ||
		o.node.Outputs[0].DType != tensor.Int32 {
		return nil
	}
	if n.Rank() != 1 || typeOf(offsets).Shape.Rank() != 1 || typeOf(offsets).DType != tensor.Int64 ||
		typeOf(ids).DType != tensor.Int32 && typeOf(ids).DType != tensor.Int64 || !n.Equal(o.node.Outputs[0].Shape) {
		return nil
	}
	old := []*op{there, row, row.in[0].op, above, above.in[0].op, above.in[1].op, at}
	o.become("_RowNumbers", nil, ids, offsets)
	return old
}

// combineAtOnce makes a sum by row numbers work along the offsets, in parallel, and absorb the weighting and the
// gathering of its rows.
func combineAtOnce(o *op, uses map[port]int) []*op {
	if len(o.in) < 2 || o.in[1].op.node.Op != "_RowNumbers" || !typeOf(o.in[0]).DType.Float() {
		return nil
	}
	ids, offsets := o.in[1].op.in[0], o.in[1].op.in[1]
	rows := typeOf(offsets).Shape.Dims[0]
	rows.Const--
	if out := o.node.Outputs[0].Shape; out.Rank() < 1 || out.Dims[0] != rows {
		return nil
	}
	in, old := []port{o.in[0], ids, offsets}, []*op{o.in[1].op}
	if x, w, ok := weighted(o.in[0], uses); ok {
		old = append(old, o.in[0].op, w.op)
		in[0] = x
		in = append(in, w)
	}
	table, gathered := gathered(in[0], ids, uses)
	if gathered {
		old = append(old, in[0].op, in[0].op.in[1].op)
		in[0] = table
	}
	o.become("_RaggedCombine", graph.Attrs{"gather": gathered}, in...)
	return old
}

// spreadAtOnce makes the gather that gives every value its example's row, and zeros to padding, work along the offsets.
func spreadAtOnce(o *op) []*op {
	if len(o.in) != 3 || o.in[1].op.node.Op != "_RowNumbers" || !isScalar(o.in[2], 0) || !typeOf(o.in[0]).DType.Float() {
		return nil
	}
	numbers := o.in[1].op
	ids, offsets := numbers.in[0], numbers.in[1]
	rows := typeOf(offsets).Shape.Dims[0]
	rows.Const--
	if x := typeOf(o.in[0]).Shape; x.Rank() < 1 || x.Dims[0] != rows {
		return nil
	}
	o.become("_RaggedSpread", nil, o.in[0], ids, offsets)
	return []*op{numbers}
}

// weighted splits rows times weights [n, 1, ...] that nothing else uses.
func weighted(p port, uses map[port]int) (rows, weights port, ok bool) {
	o := p.op
	if o.feed >= 0 || o.node.Op != "Mul" || uses[p] != 1 || len(o.in) != 2 {
		return p, p, false
	}
	x, w := typeOf(o.in[0]).Shape, typeOf(o.in[1]).Shape
	if !x.Equal(o.node.Outputs[0].Shape) || w.Rank() != x.Rank() || x.Rank() < 1 || w.Dims[0] != x.Dims[0] {
		return p, p, false
	}
	for _, d := range w.Dims[1:] {
		if d != graph.Fixed(1) {
			return p, p, false
		}
	}
	return o.in[0], o.in[1], true
}

// gathered returns the table if p is its rows at the ids, used only once. Rows of negative ids do not matter.
func gathered(p, ids port, uses map[port]int) (table port, ok bool) {
	o := p.op
	if o.feed >= 0 || o.node.Op != "GatherV2" || uses[p] != 1 || len(o.in) != 3 || !isScalar(o.in[2], 0) || o.node.Int("batch_dims", 0) != 0 || o.node.Bool(graph.NegativeGivesZeros) {
		return p, false
	}
	at := o.in[1].op
	if at.feed >= 0 || at.node.Op != "Maximum" || len(at.in) != 2 || at.in[0] != ids || !isScalar(at.in[1], 0) {
		return p, false
	}
	return o.in[0], true
}

// unshaped returns the value before any Reshape.
func unshaped(p port) port {
	for p.op.feed < 0 && p.op.node.Op == "Reshape" && len(p.op.in) > 0 {
		p = p.op.in[0]
	}
	return p
}

func typeOf(p port) graph.Type { return p.op.node.Outputs[p.idx] }

// isScalar reports whether p is a constant with the single element v.
func isScalar(p port, v float64) bool {
	t, ok := p.op.node.Attrs["value"].(*tensor.Tensor)
	return ok && p.op.feed < 0 && p.op.node.Op == "Const" && t.Len() == 1 && t.DType != tensor.String && t.Float(0) == v
}

func countUses(ops []*op, fetched []port) map[port]int {
	uses := map[port]int{}
	for _, o := range ops {
		for _, in := range o.in {
			uses[in]++
		}
	}
	for _, p := range fetched {
		uses[p]++
	}
	return uses
}

// withoutUnused returns ops without the dropped ops that nothing uses, and without the ops that only these use.
func withoutUnused(ops, dropped []*op, fetched []port) []*op {
	used := map[*op]int{}
	for p, n := range countUses(ops, fetched) {
		used[p.op] += n
	}
	for _, o := range ops {
		for _, d := range o.after {
			used[d]++
		}
	}
	gone := map[*op]bool{}
	for len(dropped) > 0 {
		o := dropped[len(dropped)-1]
		dropped = dropped[:len(dropped)-1]
		if used[o] > 0 || gone[o] || o.feed >= 0 || o.phantom || o.def.effect || o.def.writes {
			continue
		}
		gone[o] = true
		for _, in := range o.in {
			used[in.op]--
			dropped = append(dropped, in.op)
		}
		for _, d := range o.after {
			used[d]--
		}
	}
	return slices.DeleteFunc(ops, func(o *op) bool { return gone[o] })
}
