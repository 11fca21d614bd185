package engine

import "strings"

// The ops below are fused only with steady weights, as in inference. Such weights are packed once, and the kernels for
// packed weights do the rest.

// norm fuses a batch normalization by fixed statistics into the convolution before it.
func (f *fuser) norm(o *op) {
	if len(o.in) != 5 || o.feed >= 0 || o.node.Bool("is_training") || !channelsLast(o.node) || f.othersUsed(o) {
		return
	}
	x := f.only(o.in[0])
	if x == nil || x.node.Op != "Conv2D" && x.node.Op != "_FusedConv2D" || !sameType(x.node.Outputs[0], o.node.Outputs[0]) || !f.open(x, "FusedBatchNorm") ||
		f.inGroups(x) {
		return
	}
	for _, in := range append(x.in[1:len(x.in):len(x.in)], o.in[1:]...) {
		if _, ok := steady(in, f.written); !ok {
			return
		}
	}
	epsilon, out := o.node.Float("epsilon", 1e-4), o.node.Outputs[:1]
	f.replace(o, x, "_FusedConv2D", "FusedBatchNorm", append(x.in[:len(x.in):len(x.in)], o.in[1:]...))
	o.node.Attrs["epsilon"], o.node.Outputs = epsilon, out
}

// add fuses addition o into the product whose result is used only by o.
func (f *fuser) add(o *op) {
	if len(o.in) != 2 || o.feed >= 0 || len(o.node.Outputs) != 1 {
		return
	}
	for i, in := range o.in {
		x, other := f.only(in), o.in[1-i]
		if x == nil || !f.open(x, "Add") || f.inGroups(x) || !sameType(x.node.Outputs[0], o.node.Outputs[0]) || !sameType(other.op.node.Outputs[other.idx], o.node.Outputs[0]) {
			continue
		}
		if _, ok := steady(x.in[1], f.written); !ok || x.node.Bool("transpose_a") {
			continue
		}
		f.replace(o, x, fusedName[x.node.Op], "Add", append(x.in[:len(x.in):len(x.in)], other))
		return
	}
}

// inGroups reports whether x is a convolution of more than one group of channels, whose filter is not packed.
func (f *fuser) inGroups(x *op) bool {
	if !strings.HasSuffix(x.node.Op, "Conv2D") {
		return false
	}
	n := x.asNode()
	images, filter := typeAt(n, forward.x), typeAt(n, forward.w)
	return images == nil || filter == nil || images.Shape.Rank() != 4 || filter.Shape.Rank() != 4 || images.Shape.Dims[3] != filter.Shape.Dims[2]
}

// fusedName are the ops that can have an epilogue.
var fusedName = map[string]string{"MatMul": "_FusedMatMul", "_FusedMatMul": "_FusedMatMul", "Conv2D": "_FusedConv2D", "_FusedConv2D": "_FusedConv2D"}

// open reports whether the part can come after the parts that the product x already has.
func (f *fuser) open(x *op, part string) bool {
	if fusedName[x.node.Op] == "" || !channelsLast(x.node) {
		return false
	}
	done, _ := x.node.Attrs["fused_ops"].([][]byte)
	return len(done) == 0 || epilogueOps[string(done[len(done)-1])].rank < epilogueOps[part].rank
}

// othersUsed reports whether something uses an output of o other than the first.
func (f *fuser) othersUsed(o *op) bool {
	for i := 1; i < len(o.node.Outputs); i++ {
		if f.uses[port{o, i}] > 0 {
			return true
		}
	}
	return false
}
