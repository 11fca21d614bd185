package lower

import (
	"fmt"
	"reflect"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// refusal returns the error for an op that is wrong in Gorgonia v0.9.18, nil for others.
func refusal(n *G.Node, name string) error {
	switch name {
	case "dropoutOp", "dropoutDiffOp":
		return refuse(n, "Dropout", "its gradient divides by p instead of 1-p, and two of them with different p become one node", "layers.Dropout")
	case "avgPoolOp", "avgPoolDiffOp":
		return refuse(n, "AveragePool2D", "both its values and its gradient are wrong", "layers.AvgPool2D")
	case "globalAveragePoolOp":
		return refuse(n, "GlobalAveragePool2D", "it has no gradient, and Grad through it panics", "layers.GlobalAvgPool2D")
	case "BatchNormOp", "batchnormDiffOp":
		return refuse(n, "BatchNorm", "its running averages live inside the op, out of reach of checkpoints and exports", "layers.BatchNorm")
	case "randomOp":
		return refuse(n, "UniformRandomNode and its like", "it draws from the wall clock, so that no run can be repeated", "the random ops of models/ops")
	case "ctcLossOp", "ctcLossDiffOp", "sparsemaxOp", "sparsemaxDiffOp", "GroupNormOp", "groupNormDiffOp",
		"upsampleOp", "upsampleDiffOp", "yoloOp", "diagFlatOp", "letOp", "readOp", "devTrans":
		return unsupported(n, "it has no form in the intermediate representation")
	}
	return nil
}

// Check looks for nodes that Gorgonia merged although they may differ: it
// recognises a node by a hash that leaves out some parameters. It merges SoftMax
// with LogSoftMax of the same operand, inputs of the same name and shape, slices
// whose bounds differ by 256, and convolutions and poolings that differ in
// dilation or in padding to the south and east.
//
// Call it before gorgonia.Grad, which destroys the traces of all but the inputs;
// Expressions calls it too. The error is a *RefusedError.
func Check(g *G.ExprGraph) error {
	if err := checkInputs(g); err != nil {
		return err
	}
	for _, n := range g.AllNodes() {
		if n.Op() == nil {
			continue
		}
		name := reflect.Indirect(reflect.ValueOf(n.Op())).Type()
		if name.PkgPath() != gorgoniaPath || !forgetful(n, name.Name()) {
			continue
		}
		if made(g, n) > 1 {
			return refuse(n, typeName(n.Op()), "it was made more than once with parameters that Gorgonia cannot tell apart, and merged into one node",
				"each result once, or the op of models/ops")
		}
	}
	return nil
}

// forgetful reports whether the hash of the op leaves out parameters that matter.
func forgetful(n *G.Node, name string) bool {
	switch name {
	case "softmaxOp", "maxPoolOp":
		return true
	case "im2colOp": // forgets the dilation; with steps of 1 the shape tells
		op := reflect.ValueOf(n.Op())
		return op.FieldByName("strideH").Int() > 1 || op.FieldByName("strideW").Int() > 1
	case "sliceOp": // bounds are hashed as bytes
		if n.Op().(interface{ IsSlice() tensor.Slice }).IsSlice() == nil {
			return false
		}
		along := int(reflect.Indirect(reflect.ValueOf(n.Op())).FieldByName("along").Int())
		of := childrenOf(n)
		return len(of) == 1 && along < len(of[0].Shape()) && of[0].Shape()[along] > 255
	}
	return false
}

// made counts how often a node was made: each time, it is added to its operands' users.
func made(g *G.ExprGraph, n *G.Node) int {
	of := childrenOf(n)
	users := reflect.ValueOf(g).Elem().FieldByName("to")
	for it := users.MapRange(); it.Next(); {
		if it.Key().UnsafePointer() != unsafe.Pointer(of[0]) {
			continue
		}
		count := 0
		for i := range it.Value().Len() {
			if it.Value().Index(i).UnsafePointer() == unsafe.Pointer(n) {
				count++
			}
		}
		return count
	}
	return 0
}

// checkInputs refuses inputs that were made twice: Gorgonia keeps a list of leaves with one entry per making.
func checkInputs(g *G.ExprGraph) error {
	leaves := reflect.ValueOf(g).Elem().FieldByName("leaves")
	seen := map[uintptr]bool{}
	for i := range leaves.Len() {
		p := leaves.Index(i).Pointer()
		if !seen[p] {
			seen[p] = true
			continue
		}
		for _, n := range g.AllNodes() {
			if reflect.ValueOf(n).Pointer() == p && n.Op() == nil {
				return refuse(n, "NewTensor", fmt.Sprintf("two inputs named %q of the same shape became one node", n.Name()), "a name of its own for each input")
			}
		}
	}
	return nil
}
