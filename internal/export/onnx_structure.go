package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// structureOps pass values on without computing.
var structureOps = map[*ops.Def]func(*site) error{
	ops.Const:           onnxConst,
	ops.Identity:        func(s *site) error { return s.yield(s.in(0)) },
	ops.StopGradient:    func(s *site) error { return s.yield(s.in(0)) },
	ops.PreventGradient: func(s *site) error { return s.yield(s.in(0)) },
	ops.Snapshot:        func(s *site) error { return s.yield(s.in(0)) },
	ops.VarHandleOp:     func(s *site) error { return s.yield("variable") },
	ops.ReadVariableOp:  readVariable,
	ops.AsString:        asString,
	ops.ZerosLike:       filledLike(0),
	ops.OnesLike:        filledLike(1),
	ops.Fill:            func(s *site) error { return s.emit("Expand", nil, s.in(1), s.as64(s.in(0), s.node.Inputs[0].DType())) },
}

func onnxConst(s *site) error {
	t, ok := s.node.Attrs["value"].(*tensor.Tensor)
	if !ok {
		return fmt.Errorf("it has no value")
	}
	if _, err := onnx.TypeNumber(t.DType); err != nil {
		return err
	}
	return s.yield(s.constant("value", t))
}

// readVariable makes a variable's value an initializer with its name, shared by all readers.
func readVariable(s *site) error {
	n := s.node.Inputs[0].Node
	if known := s.read[n]; known != "" {
		return s.yield(known)
	}
	name := n.Str("shared_name")
	if name == "" {
		name = n.Name
	}
	t, err := s.variables.Value(name)
	if err != nil {
		return err
	}
	unique := s.unique(name)
	s.read[n] = unique
	s.out.Initializers = append(s.out.Initializers, onnx.Initializer{Name: unique, Tensor: t})
	return s.yield(unique)
}

// asString is exact only for integers.
func asString(s *site) error {
	if d := s.node.Inputs[0].DType(); d.Float() {
		return fmt.Errorf("%v as text is written in another way there", d)
	}
	return s.yield(s.cast(s.in(0), tensor.String))
}

func filledLike(v float64) func(*site) error {
	return func(s *site) error {
		d := s.node.Outputs[0].DType
		g := graph.NewBuilder(graph.New())
		o := g.Scalar("fill", d, v)
		if g.Err() != nil {
			return g.Err()
		}
		t := o.Node.Attrs["value"].(*tensor.Tensor)
		one := &tensor.Tensor{DType: d, Shape: []int{1}, Bytes: t.Bytes}
		return s.emit("ConstantOfShape", map[string]any{"value": one}, s.step("Shape", nil, s.in(0)))
	}
}
