package lower

import "github.com/goestimator/goestimator/internal/compiler/graph"

// softmaxAxis is the axis that Gorgonia's forward op works along.
func (s *site) softmaxAxis() int {
	rank := len(s.shape)
	if a := s.int("axis"); a >= 0 {
		return a
	}
	if rank == 2 && s.shape[1] == 1 && s.shape[0] > 1 {
		return 0
	}
	return rank - 1
}

// lowerSoftmax lowers SoftMax and LogSoftMax along any axis.
func lowerSoftmax(s *site) (graph.Output, error) {
	op := "Softmax"
	if s.bool("isLog") {
		op = "LogSoftmax"
	}
	rank, axis := len(s.shape), s.softmaxAxis()
	if rank == 0 || axis >= rank {
		return graph.Output{}, unsupported(s.node, "its axis is outside of the operand")
	}
	perm := make([]int, rank) // swaps axis and the last one
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = perm[rank-1], perm[axis]
	return s.transpose(s.unary(op, s.transpose(s.in[0], perm...)), perm...), nil
}

// lowerSoftmaxGrad lowers their gradients; the operands are x, y and dL/dy.
func lowerSoftmaxGrad(s *site) (graph.Output, error) {
	y, dy := s.in[1], s.in[2]
	axis := s.softmaxAxis()
	if s.int("axis") < 0 && axis != len(s.shape)-1 {
		return graph.Output{}, refuse(s.node, "SoftMax", "without an axis, a column's gradient is taken along another axis than its value", "SoftMax(x, 0)")
	}
	if s.bool("isLog") {
		total := s.reduce("Sum", dy, true, axis)
		return s.binary("Sub", dy, s.binary("Mul", s.unary("Exp", y), total)), nil
	}
	total := s.reduce("Sum", s.binary("Mul", dy, y), true, axis)
	return s.binary("Mul", s.binary("Sub", dy, total), y), nil
}
