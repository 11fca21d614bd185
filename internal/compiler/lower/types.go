package lower

import (
	"fmt"
	"slices"

	"github.com/chewxy/hm"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var dtypes = map[tensor.Dtype]graph.DType{
	tensor.Float32: graph.Float32, tensor.Float64: graph.Float64,
	tensor.Int32: graph.Int32, tensor.Int64: graph.Int64, tensor.Int: graph.Int64,
	tensor.Int8: graph.Int8, tensor.Int16: graph.Int16, tensor.Uint8: graph.Uint8,
	tensor.Bool: graph.Bool, tensor.String: graph.String,
}

// typeOf returns the type and fixed shape of a Gorgonia node. Gorgonia's int is int64.
func typeOf(n *G.Node) (graph.Type, error) {
	dt, err := elementType(n.Type())
	if err != nil {
		return graph.Type{}, fmt.Errorf("node %s: %w", describe(n), err)
	}
	return graph.Type{DType: dt, Shape: graph.ShapeOf(n.Shape()...)}, nil
}

func elementType(t hm.Type) (graph.DType, error) {
	switch x := t.(type) {
	case tensor.Dtype:
		if d, ok := dtypes[x]; ok {
			return d, nil
		}
	case G.TensorType:
		return elementType(x.Of)
	case *G.TensorType:
		return elementType(x.Of)
	}
	return graph.Invalid, fmt.Errorf("element type %v has no form in the intermediate representation: expected float32, float64, int32, int64, uint8, bool or string", t)
}

// sizes returns the fixed sizes of a shape.
func sizes(o graph.Output) []int { return o.Shape().At(0) }

// broadcast returns the shape that NumPy's rules give for two operands.
func broadcast(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	off := len(a) - len(b)
	for i, n := range b {
		switch m := out[off+i]; {
		case m == n || n == 1:
		case m == 1:
			out[off+i] = n
		default:
			return nil, false
		}
	}
	return out, true
}
