package engine

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Cost returns the floating-point operations of a node for a batch of that many rows, and the bytes of its operands,
// results and variables, each read or written once. Only matrix products and convolutions count as operations, two for
// each multiply-add, without the biases and activations fused into them. Values of unknown shape count as nothing.
func Cost(n *graph.Node, batch int) (flops, bytes int64) {
	return flopsOf(n, batch), bytesOf(n, batch)
}

// flopsOf counts two operations for each multiply-add of the op.
func flopsOf(n *graph.Node, batch int) int64 {
	switch n.Op {
	case "MatMul", "_FusedMatMul":
		return productFlops(n, batch, n.Bool("transpose_a"))
	case "_IntegerMatMul":
		return productFlops(n, batch, false)
	case "BatchMatMulV2":
		return productFlops(n, batch, n.Bool("adj_x"))
	case "Conv2D", "_FusedConv2D", "_IntegerConv2D":
		return convFlops(n, batch, forward, 3)
	case "Conv2DBackpropInput":
		return convFlops(n, batch, inputGrad, 3)
	case "Conv2DBackpropFilter":
		return convFlops(n, batch, filterGrad, 3)
	case "Conv3D":
		return convFlops(n, batch, forward, 4)
	case "Conv3DBackpropInputV2":
		return convFlops(n, batch, inputGrad, 4)
	case "Conv3DBackpropFilterV2":
		return convFlops(n, batch, filterGrad, 4)
	case "DepthwiseConv2dNative":
		return convFlops(n, batch, forward, 2)
	case "DepthwiseConv2dNativeBackpropInput":
		return convFlops(n, batch, inputGrad, 2)
	case "DepthwiseConv2dNativeBackpropFilter":
		return convFlops(n, batch, filterGrad, 2)
	}
	return 0
}

func productFlops(n *graph.Node, batch int, transposed bool) int64 {
	a, out := sizeAt(n, 0, batch), sizeAt(n, -1, batch)
	if len(a) < 2 || out == nil {
		return 0
	}
	terms := a[len(a)-1]
	if transposed {
		terms = a[len(a)-2]
	}
	return 2 * int64(tensor.NumElements(out)) * int64(terms)
}

// convFlops multiplies the elements of the forward op's result by the elements of the filter's first dims dimensions. The
// gradients have the same number of multiply-adds.
func convFlops(n *graph.Node, batch int, r role, dims int) int64 {
	w, y := sizeAt(n, r.w, batch), sizeAt(n, r.y, batch)
	if len(w) < dims || y == nil {
		return 0
	}
	return 2 * int64(tensor.NumElements(y)) * int64(tensor.NumElements(w[:dims]))
}

// typeAt is the type of input i, or of output 0 for i < 0; nil if there is none or its shape is unknown.
func typeAt(n *graph.Node, i int) *graph.Type {
	var t graph.Type
	switch {
	case i < 0 && len(n.Outputs) > 0:
		t = n.Outputs[0]
	case i >= 0 && i < len(n.Inputs) && n.Inputs[i].Valid() && n.Inputs[i].Index < len(n.Inputs[i].Node.Outputs):
		t = n.Inputs[i].Type()
	default:
		return nil
	}
	if !t.Shape.Known() {
		return nil
	}
	return &t
}

func sizeAt(n *graph.Node, i, batch int) []int {
	if t := typeAt(n, i); t != nil {
		return t.Shape.At(batch)
	}
	return nil
}

func typeBytes(t *graph.Type, batch int) int64 {
	if t == nil {
		return 0
	}
	return int64(t.Shape.ElementsAt(batch)) * int64(t.DType.Size())
}

// rowsBytes is the size of one table row for each id.
func rowsBytes(table, ids *graph.Type, batch int) int64 {
	if ids == nil || table.Shape.Rank() < 1 {
		return 0
	}
	row := graph.Type{DType: table.DType, Shape: graph.Shape{Dims: table.Shape.Dims[1:]}}
	return int64(ids.Shape.ElementsAt(batch)) * typeBytes(&row, batch)
}

func bytesOf(n *graph.Node, batch int) int64 {
	var results, operands, widest int64
	for _, t := range n.Outputs {
		if t.Shape.Known() {
			results += typeBytes(&t, batch)
		}
	}
	var variables []*graph.Node
	for i, in := range n.Inputs {
		t := typeAt(n, i)
		switch {
		case t == nil || !readsInput(n.Op, i):
		case t.DType == tensor.Resource:
			variables = append(variables, in.Node)
		case i == 0 && n.Op == "GatherV2": // only the rows that it returns
			operands += results
		case i == 0 && n.Op == "_RaggedCombine" && n.Bool("gather"): // a row for each id
			operands += rowsBytes(t, typeAt(n, 1), batch)
		default:
			operands += typeBytes(t, batch)
			widest = max(widest, typeBytes(t, batch))
		}
	}
	total := results + operands
	for _, v := range variables {
		total += variableBytes(n.Op, v, results, widest)
	}
	return total
}

// readsInput reports whether the elements of an input matter to the op.
func readsInput(op string, i int) bool {
	d := registry()[op]
	return d == nil || !d.shape && !slices.Contains(d.unread, i)
}

// variableBytes is the bytes of a variable that an op reads and writes, given the bytes of its results and its widest operand.
func variableBytes(op string, v *graph.Node, results, widest int64) int64 {
	switch {
	case op == "ReadVariableOp":
		return results
	case strings.HasPrefix(op, "ResourceSparse") || strings.HasPrefix(op, "ResourceScatter"):
		return 2 * widest // the gradient's rows
	}
	d, _ := v.Attrs["dtype"].(tensor.DType)
	s, ok := v.Attrs["shape"].(graph.Shape)
	if !ok || !s.Known() {
		return 0
	}
	size := typeBytes(&graph.Type{DType: d, Shape: s}, 1)
	if op == "AssignVariableOp" {
		return size
	}
	return 2 * size
}

// label names the op and the ops fused into it.
func (o *op) label() string {
	name := o.node.Op
	if fused, _ := o.node.Attrs["fused_ops"].([][]byte); fused != nil {
		name = strings.TrimPrefix(name, "_Fused")
		for _, f := range fused {
			name += "+" + string(f)
		}
	}
	if o.fusion != nil {
		name = ""
		for i, m := range o.fusion.nodes {
			if i > 0 {
				name += "+"
			}
			name += m.Op
		}
	}
	if name == "_FusedBatchNormEx" {
		name = "FusedBatchNorm"
		if o.node.Int("num_side_inputs", 0) > 0 {
			name += "+Add"
		}
		if a := o.node.Str("activation_mode"); a != "" {
			name += "+" + a
		}
	}
	return name
}

// asNode returns the op as a graph node with the op's own inputs, fused ones included.
func (o *op) asNode() *graph.Node {
	n := *o.node
	n.Inputs = make([]graph.Output, len(o.in))
	for i, in := range o.in {
		n.Inputs[i] = in.op.node.Out(in.idx)
	}
	return &n
}
