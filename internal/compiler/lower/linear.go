package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// lowerLinear lowers matrix and vector products.
func lowerLinear(s *site) (graph.Output, error) {
	x, y := s.in[0], s.in[1]
	transX, transY := s.bool("transA"), s.bool("transB")
	if x.DType() != y.DType() {
		return graph.Output{}, fmt.Errorf("product of %v and %v: expected one type", x.DType(), y.DType())
	}
	switch product(s.v.FieldByName("āBinaryOperator").Uint()) {
	case matMul:
		return s.matMul(x, y, transX, transY), nil
	case matVecMul:
		return s.matVec(x, y, transX)
	case vecDot:
		n := tensor.NumElements(sizes(x))
		return s.reduce("Sum", s.binary("Mul", s.reshape(x, n), s.reshape(y, n)), false, 0), nil
	case outerProd:
		if s.node.Deriv() != nil {
			return graph.Output{}, refuse(s.node, "OuterProd", "its gradient multiplies each operand by itself instead of by the other", "a MatMul of a column and a row")
		}
		return s.binary("Mul", s.reshape(x, tensor.NumElements(sizes(x)), 1), s.reshape(y, 1, tensor.NumElements(sizes(y)))), nil
	case batchedMatMul:
		return s.add("BatchMatMulV2", s.out, graph.Attrs{"T": x.DType(), "adj_x": transX, "adj_y": transY}, x, y), nil
	}
	return graph.Output{}, unsupported(s.node, "")
}

// product is Gorgonia's enumeration of products.
type product uint64

const (
	matMul product = iota
	matVecMul
	vecDot
	outerProd
	batchedMatMul
)

func (s *site) matVec(x, y graph.Output, trans bool) (graph.Output, error) {
	a, n := sizes(x), tensor.NumElements(sizes(y))
	rows, cols := a[0], a[1]
	if trans {
		rows, cols = cols, rows
	}
	if cols != n {
		return graph.Output{}, fmt.Errorf("product of a matrix %v (transposed: %v) and a vector of %d: expected %d elements", a, trans, n, cols)
	}
	return s.reshape(s.matMul(x, s.reshape(y, n, 1), trans, false), rows), nil
}

// lowerTensordot contracts the axes aAxes of one operand with bAxes of the other.
func lowerTensordot(s *site) (graph.Output, error) {
	a, aFree, aSum := s.matrix(s.in[0], s.ints("aAxes"), false)
	b, bFree, bSum := s.matrix(s.in[1], s.ints("bAxes"), true)
	if aSum != bSum {
		return graph.Output{}, fmt.Errorf("tensordot of %v and %v: the contracted axes hold %d and %d elements", s.in[0].Shape(), s.in[1].Shape(), aSum, bSum)
	}
	if aFree*bFree != tensor.NumElements(s.shape) {
		return graph.Output{}, fmt.Errorf("tensordot: %dx%d elements: expected shape %v", aFree, bFree, s.shape)
	}
	return s.reshape(s.matMul(a, b, false, false), s.shape...), nil
}

// matrix turns x into [free, summed], or [summed, free].
func (s *site) matrix(x graph.Output, axes []int, first bool) (m graph.Output, free, summed int) {
	shape := sizes(x)
	var rest []int
	free, summed = 1, 1
	for i, n := range shape {
		if slices.Contains(axes, i) {
			summed *= n
		} else {
			rest = append(rest, i)
			free *= n
		}
	}
	if first {
		return s.reshape(s.transpose(x, slices.Concat(axes, rest)...), summed, free), free, summed
	}
	return s.reshape(s.transpose(x, slices.Concat(rest, axes)...), free, summed), free, summed
}
