package lower

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// constant lowers a constant of Gorgonia.
func (l *lowering) constant(n *G.Node) (graph.Output, error) {
	v, err := n.Op().Do()
	if err != nil {
		return graph.Output{}, fmt.Errorf("constant: %w", err)
	}
	t, err := hostTensor(v)
	if err != nil {
		return graph.Output{}, err
	}
	if d, ok := v.(*gtensor.Dense); ok && !printsExactly(d, t) {
		return graph.Output{}, refuse(n, "NewConstant", "it prints a tensor shortened, and Gorgonia merges constants that print alike",
			"a non-trainable variable or a feature")
	}
	return l.Const(l.scopeOf(n)+"Const", t), nil
}

// hostTensor copies a value of Gorgonia.
func hostTensor(v G.Value) (*tensor.Tensor, error) {
	shape := []int(v.Shape().Clone())
	data := v.Data()
	if d, ok := v.(*gtensor.Dense); ok {
		if d.RequiresIterator() || !d.DataOrder().IsContiguous() || d.DataOrder().IsColMajor() {
			m, ok := d.Materialize().(*gtensor.Dense)
			if !ok || m.RequiresIterator() {
				return nil, fmt.Errorf("constant of shape %v is a view that cannot be copied", shape)
			}
			data = m.Data()
		}
	}
	t, err := elements(data, shape)
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}

func elements(data any, shape []int) (*tensor.Tensor, error) {
	switch x := data.(type) {
	case float32:
		return tensor.Scalar(x), nil
	case float64:
		return tensor.Scalar(x), nil
	case int32:
		return tensor.Scalar(x), nil
	case int64:
		return tensor.Scalar(x), nil
	case int:
		return tensor.Scalar(int64(x)), nil
	case uint8:
		return tensor.Scalar(x), nil
	case bool:
		return tensor.Scalar(x), nil
	case []float32:
		return tensor.FromSlice(x, shape...)
	case []float64:
		return tensor.FromSlice(x, shape...)
	case []int32:
		return tensor.FromSlice(x, shape...)
	case []int64:
		return tensor.FromSlice(x, shape...)
	case []int:
		wide := make([]int64, len(x))
		for i, n := range x {
			wide[i] = int64(n)
		}
		return tensor.FromSlice(wide, shape...)
	case []uint8:
		return tensor.FromSlice(x, shape...)
	case []bool:
		return tensor.FromSlice(x, shape...)
	}
	return nil, fmt.Errorf("constant of Go type %T: expected float32, float64, int32, int64, int, uint8, bool or a slice of one", data)
}

// printsExactly reports whether the printed form of d shows every element
// exactly, so that no other tensor can have been merged with it.
func printsExactly(d *gtensor.Dense, t *tensor.Tensor) bool {
	want, ok := asFloats(t)
	if !ok {
		return true // integers and booleans print exactly or are checked by their number
	}
	fields := strings.FieldsFunc(fmt.Sprintf("%v", d), func(r rune) bool { return !strings.ContainsRune("0123456789+-.eEInfNa", r) })
	i := 0
	for _, f := range fields {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			continue // matrix brackets R and C, elision dots
		}
		if i >= len(want) || !exact(x, want[i], t.DType) {
			return false
		}
		i++
	}
	return i == len(want)
}

func exact(printed, want float64, d tensor.DType) bool {
	if d == tensor.Float32 {
		printed = float64(float32(printed))
	}
	return printed == want || math.IsNaN(printed) && math.IsNaN(want)
}

func asFloats(t *tensor.Tensor) ([]float64, bool) {
	switch t.DType {
	case tensor.Float32:
		return widen(tensor.Values[float32](t)), true
	case tensor.Float64:
		return widen(tensor.Values[float64](t)), true
	case tensor.Int32:
		return widen(tensor.Values[int32](t)), true
	case tensor.Int64:
		return widen(tensor.Values[int64](t)), true
	case tensor.Uint8:
		return widen(tensor.Values[uint8](t)), true
	}
	return nil, false
}

func widen[T float32 | float64 | int32 | int64 | uint8](v []T) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
