package engine

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// fuse merges chains of ops into one pass over memory, under the names of TensorFlow's fused ops: a matrix product or
// convolution with its bias, normalization, addition and ReLU, a batch normalization with ReLU. It returns the remaining
// ops.
func fuse(ops []*op, fetched []port, written map[*variable]bool) []*op {
	f := newFuser(ops, fetched, written)
	for _, o := range ops {
		switch o.node.Op {
		case "BiasAdd":
			f.bias(o)
		case "FusedBatchNormV3":
			f.norm(o)
		case "AddV2", "Add":
			f.add(o)
			f.normAdd(o, ops)
		case "Relu":
			f.relu(o)
			f.normRelu(o, ops)
		}
		f.integers(o)
	}
	return slices.DeleteFunc(ops, func(o *op) bool { return f.gone[o] })
}

type fuser struct {
	uses    map[port]int
	waited  map[*op]bool // a control edge waits for it
	gone    map[*op]bool
	fetched []port
	// fits, if not nil, reports whether the device supports a merged op.
	fits func(n *graph.Node, in []port) bool
	// written are the variables that the program updates.
	written map[*variable]bool
}

// newFuser returns a fuser after counting uses.
func newFuser(ops []*op, fetched []port, written map[*variable]bool) *fuser {
	f := &fuser{fetched: fetched, waited: map[*op]bool{}, gone: map[*op]bool{}, written: written}
	f.reluGradients(ops)
	f.uses = countUses(ops, fetched)
	for _, o := range ops {
		for _, d := range o.after {
			f.waited[d] = true
		}
	}
	return f
}

// reluGradients makes ReluGrad take the result of Relu instead of Relu's operand: their signs are the same, and the
// operand is then free for fusion.
func (f *fuser) reluGradients(ops []*op) {
	result := map[port]*op{}
	for _, o := range ops {
		if o.node.Op == "Relu" && o.feed < 0 && len(o.in) == 1 && len(o.after) == 0 && !o.in[0].op.def.alias && o.in[0].op.feed < 0 {
			result[o.in[0]] = o
		}
	}
	for _, o := range ops {
		if o.node.Op == "ReluGrad" && len(o.in) == 2 {
			// In a strange graph the exchange could make a cycle.
			if r := result[o.in[1]]; r != nil && !needs(r, o) {
				o.in[1] = port{r, 0}
			}
		}
	}
}

// needs reports whether r is o or depends on it.
func needs(r, o *op) bool {
	seen := map[*op]bool{}
	var walk func(x *op) bool
	walk = func(x *op) bool {
		if x == o {
			return true
		}
		if seen[x] {
			return false
		}
		seen[x] = true
		return slices.ContainsFunc(dependencies(x), walk)
	}
	return walk(r)
}

// only returns the op that computes p if p has a single use.
func (f *fuser) only(p port) *op {
	if f.uses[p] != 1 || f.waited[p.op] || p.op.feed >= 0 || p.idx != 0 || f.othersUsed(p.op) {
		return nil
	}
	return p.op
}

// bias turns MatMul or Conv2D and BiasAdd into the fused op in BiasAdd's place.
func (f *fuser) bias(o *op) {
	if len(o.in) != 2 || o.feed >= 0 || len(o.node.Outputs) != 1 {
		return
	}
	x := f.only(o.in[0])
	if x == nil || len(x.in) != 2 || !f.open(x, "BiasAdd") || !sameType(x.node.Outputs[0], o.node.Outputs[0]) ||
		x.node.Outputs[0].Shape.Rank() < 2 || !channelsLast(o.node) {
		return
	}
	f.replace(o, x, fusedName[x.node.Op], "BiasAdd", []port{x.in[0], x.in[1], o.in[1]})
}

// relu adds ReLU to a fused product.
func (f *fuser) relu(o *op) {
	if len(o.in) != 1 || o.feed >= 0 || len(o.node.Outputs) != 1 {
		return
	}
	x := f.only(o.in[0])
	if x == nil || !f.open(x, "Relu") || !sameType(x.node.Outputs[0], o.node.Outputs[0]) {
		return
	}
	f.replace(o, x, fusedName[x.node.Op], "Relu", x.in)
}

// normAdd fuses addition o into the batch normalization whose result is used only by o.
func (f *fuser) normAdd(o *op, ops []*op) {
	if len(o.in) != 2 || o.feed >= 0 || f.gone[o] || f.waited[o] || len(o.after) > 0 || len(o.node.Outputs) != 1 {
		return
	}
	for i, x := range o.in {
		other := o.in[1-i]
		if f.normalized(x) && x.op.node.Op == "FusedBatchNormV3" && len(x.op.in) == 5 && whole(o, i) && whole(o, 1-i) && !needs(other.op, x.op) {
			f.absorb(o, x, append(slices.Clone(x.op.in), other), graph.Attrs{"num_side_inputs": int64(1)}, ops)
			return
		}
	}
}

// normRelu fuses ReLU o into the batch normalization whose result is used only by o.
func (f *fuser) normRelu(o *op, ops []*op) {
	if len(o.in) != 1 || o.feed >= 0 || f.gone[o] || f.waited[o] || len(o.after) > 0 {
		return
	}
	if x := o.in[0]; f.normalized(x) && x.op.node.Str("activation_mode") == "" {
		f.absorb(o, x, x.op.in, graph.Attrs{"activation_mode": []byte("Relu")}, ops)
	}
}

// normalized reports whether x is the result of a batch normalization that a single op uses.
func (f *fuser) normalized(x port) bool {
	return f.uses[x] == 1 && x.idx == 0 && x.op.feed < 0 && (x.op.node.Op == "FusedBatchNormV3" || x.op.node.Op == "_FusedBatchNormEx")
}

// absorb makes the batch normalization with result x do the work of o, described by the attributes more.
func (f *fuser) absorb(o *op, x port, in []port, more graph.Attrs, ops []*op) {
	n := *x.op.node
	n.Op, n.Attrs = "_FusedBatchNormEx", maps.Clone(n.Attrs)
	maps.Copy(n.Attrs, more)
	if f.fits != nil && !f.fits(&n, in) {
		return
	}
	x.op.in = in
	x.op.node, x.op.def = &n, registry()[n.Op]
	f.uses[x] = f.uses[port{o, 0}]
	f.gone[o] = true
	for _, u := range ops {
		for i := range u.in {
			if u.in[i].op == o {
				u.in[i] = x
			}
		}
	}
	for i := range f.fetched {
		if f.fetched[i].op == o {
			f.fetched[i] = x
		}
	}
}

// replace makes last also do the work of x, under last's name and with x's attributes.
func (f *fuser) replace(last, x *op, name, more string, in []port) {
	attrs := graph.Attrs{}
	maps.Copy(attrs, x.node.Attrs)
	done, _ := attrs["fused_ops"].([][]byte)
	attrs["fused_ops"] = append(slices.Clone(done), []byte(more))
	n := &graph.Node{Name: last.node.Name, Op: name, Device: last.node.Device, Attrs: attrs, Outputs: last.node.Outputs}
	if f.fits != nil && !f.fits(n, in) {
		return
	}
	last.node = n
	last.in, last.after, last.def = in, append(slices.Clone(x.after), last.after...), registry()[name]
	f.gone[x] = true
}

// whole reports whether input i has the type of the result.
func whole(o *op, i int) bool {
	return sameType(o.in[i].op.node.Outputs[o.in[i].idx], o.node.Outputs[0])
}

func sameType(a, b graph.Type) bool { return a.DType == b.DType && a.Shape.Equal(b.Shape) }

func channelsLast(n *graph.Node) bool {
	f := n.Str("data_format")
	return f == "" || f == "NHWC" || f == "NDHWC"
}
