package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Elementwise reports whether NewChain can write a node of the op.
func Elementwise(op string) bool {
	d := ops.Find(op)
	return d != nil && (d.Element.CUDA != "" || d == ops.Cast || d == ops.AddN)
}

// libm defines LIBM, the functions of C's math library that definitions of ops use.
func libm() string {
	var names []string
	for _, d := range ops.Defs() {
		if f := d.Element.Libm; f != "" {
			names = append(names, "BOTH("+f+")")
		}
	}
	slices.Sort(names)
	return "#define LIBM " + strings.Join(slices.Compact(names), " ") + "\n"
}

// elementTypes has the types of elements in memory and in computations, and their letters in a definition's Kinds. Bfloat16 is
// computed as float and rounded when stored.
var elementTypes = map[tensor.DType]struct{ memory, value, letter string }{
	tensor.Float32: {"float", "float", "f"}, tensor.Float64: {"double", "double", "f"}, tensor.BFloat16: {"u16", "float", "f"},
	tensor.Int32: {"int", "int", "i"}, tensor.Int64: {"i64", "i64", "i"}, tensor.Uint8: {"u8", "u8", "i"}, tensor.Bool: {"u8", "bool", "b"},
	tensor.Int8: {"signed char", "signed char", "i"}, tensor.Int16: {"short", "short", "i"}, tensor.Uint16: {"u16", "u16", "i"},
	tensor.Uint32: {"u32", "u32", "i"}, tensor.Uint64: {"u64", "u64", "i"},
}

// expression writes the expression of a node, given the names of its inputs.
func expression(n *graph.Node, in []string) (string, error) {
	from := n.Inputs[0].DType()
	switch n.Op {
	case "AddN":
		return strings.Join(in, " + "), nil
	case "Cast":
		if n.Outputs[0].DType == tensor.Bool {
			return in[0] + " != 0", nil
		}
		return in[0], nil
	}
	d := ops.Find(n.Op)
	if d == nil || d.Element.CUDA == "" || len(in) != d.Arity() {
		return "", fmt.Errorf("not an elementwise op of %d inputs", len(in))
	}
	text, kinds := d.Element.CUDA, d.Element.Kinds
	if ints := d.Element.CUDAInts; ints != "" && (from == tensor.Int32 || from == tensor.Int64) {
		text, kinds = ints, "i"
	}
	if !strings.Contains(kinds, elementTypes[from].letter) {
		return "", fmt.Errorf("element type %v is not supported", from)
	}
	if n.Op == "BiasAdd" && n.Str("data_format") == "NCHW" {
		return "", fmt.Errorf("data_format NCHW is not supported")
	}
	value := elementTypes[from].value
	alpha := fmt.Sprintf("(%s)%s", value, strconv.FormatFloat(float64(n.Float("alpha", 0.2)), 'e', -1, 64))
	text = strings.ReplaceAll(text, "%a", alpha)
	for i, name := range in {
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), name)
	}
	return text, nil
}
