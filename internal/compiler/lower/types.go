package lower

import (
	"fmt"
	"slices"

	"github.com/chewxy/hm"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

var dtypes = map[gtensor.Dtype]tensor.DType{
	gtensor.Float32: tensor.Float32, gtensor.Float64: tensor.Float64,
	gtensor.Int32: tensor.Int32, gtensor.Int64: tensor.Int64, gtensor.Int: tensor.Int64,
	gtensor.Int8: tensor.Int8, gtensor.Int16: tensor.Int16, gtensor.Uint8: tensor.Uint8,
	gtensor.Bool: tensor.Bool, gtensor.String: tensor.String,
}

// typeOf returns the type and fixed shape of a Gorgonia node. Gorgonia's int is int64.
func typeOf(n *G.Node) (graph.Type, error) {
	dt, err := elementType(n.Type())
	if err != nil {
		return graph.Type{}, fmt.Errorf("node %s: %w", describe(n), err)
	}
	return graph.Type{DType: dt, Shape: graph.ShapeOf(n.Shape()...)}, nil
}

func elementType(t hm.Type) (tensor.DType, error) {
	switch x := t.(type) {
	case gtensor.Dtype:
		if d, ok := dtypes[x]; ok {
			return d, nil
		}
	case G.TensorType:
		return elementType(x.Of)
	case *G.TensorType:
		return elementType(x.Of)
	}
	return tensor.Invalid, fmt.Errorf("element type %v has no form in the intermediate representation: expected float32, float64, int32, int64, uint8, bool or string", t)
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
