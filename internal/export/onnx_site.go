package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// site is a node being translated to ONNX.
type site struct {
	*translation
	node *graph.Node
}

// in returns the name of input i.
func (s *site) in(i int) string { return s.values[s.node.Inputs[i]] }

// ins returns the names of all inputs.
func (s *site) ins() []string {
	out := make([]string, len(s.node.Inputs))
	for i := range out {
		out[i] = s.in(i)
	}
	return out
}

// rank returns the rank of input i.
func (s *site) rank(i int) (int, error) {
	if r := s.node.Inputs[i].Shape().Rank(); r >= 0 {
		return r, nil
	}
	return 0, fmt.Errorf("input %d has no known rank", i)
}

// step adds an intermediate node and returns its result.
func (s *site) step(op string, attrs map[string]any, in ...string) string {
	out := s.unique(s.node.Name + "/" + op)
	s.out.Nodes = append(s.out.Nodes, onnx.Node{Op: op, Name: out, Inputs: in, Outputs: []string{out}, Attrs: attrs})
	return out
}

// yield makes x the result of the node.
func (s *site) yield(x string) error {
	s.values[s.node.Out(0)] = x
	return nil
}

// emit adds the node that computes the result.
func (s *site) emit(op string, attrs map[string]any, in ...string) error {
	return s.yield(s.step(op, attrs, in...))
}

// constant adds an initializer.
func (s *site) constant(name string, t *tensor.Tensor) string {
	name = s.unique(s.node.Name + "/" + name)
	s.out.Initializers = append(s.out.Initializers, onnx.Initializer{Name: name, Tensor: t})
	return name
}

// int64s adds a vector.
func (s *site) int64s(name string, v ...int) string {
	t := tensor.New(tensor.Int64, len(v))
	for i, x := range v {
		tensor.Values[int64](t)[i] = int64(x)
	}
	return s.constant(name, t)
}

// scalar adds a scalar of a numeric type.
func (s *site) scalar(name string, d tensor.DType, v float64) (string, error) {
	g := graph.NewBuilder(graph.New())
	o := g.Scalar(name, d, v)
	if g.Err() != nil {
		return "", g.Err()
	}
	t, _ := o.Node.Attrs["value"].(*tensor.Tensor)
	return s.constant(name, t), nil
}

// ints returns the elements of an integer input, which must be a constant.
func (s *site) ints(i int) ([]int, error) {
	if i >= len(s.node.Inputs) {
		return nil, fmt.Errorf("it has no input %d", i)
	}
	from := s.node.Inputs[i].Node
	for from.Op == "Identity" {
		from = from.Inputs[0].Node
	}
	t, ok := from.Attrs["value"].(*tensor.Tensor)
	if from.Op != "Const" || !ok || t.DType == tensor.String || t.DType.Float() {
		return nil, fmt.Errorf("input %d is computed: ONNX needs a constant", i)
	}
	out := make([]int, t.Len())
	for j := range out {
		out[j] = int(t.Int(j))
	}
	return out, nil
}

// axis returns an axis from a constant input, made nonnegative if the rank is known.
func (s *site) axis(i, of int) (int, error) {
	v, err := s.ints(i)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("input %d: expected one axis, got %v", i, v)
	}
	if r := s.node.Inputs[of].Shape().Rank(); v[0] < 0 && r >= 0 {
		return v[0] + r, nil
	}
	return v[0], nil
}

// as64 converts an integer value to int64.
func (s *site) as64(x string, d tensor.DType) string {
	if d == tensor.Int64 {
		return x
	}
	return s.cast(x, tensor.Int64)
}

func (s *site) cast(x string, d tensor.DType) string {
	n, err := onnx.TypeNumber(d)
	if err != nil {
		n = 0 // the ONNX checker will name the node
	}
	return s.step("Cast", map[string]any{"to": n}, x)
}

// swapped adds a Transpose.
func (s *site) swapped(x string, perm ...int) string {
	return s.step("Transpose", map[string]any{"perm": perm}, x)
}

// channelsFirst and channelsLast move the channels of images of n dimensions.
func (s *site) channelsFirst(x string, n int) string {
	perm := []int{0, n + 1}
	for i := range n {
		perm = append(perm, 1+i)
	}
	return s.swapped(x, perm...)
}

func (s *site) channelsLast(x string, n int) string {
	perm := []int{0}
	for i := range n {
		perm = append(perm, 2+i)
	}
	return s.swapped(x, append(perm, 1)...)
}
