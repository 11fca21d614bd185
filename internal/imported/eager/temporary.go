package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// temporaryVariable makes a variable of zeros that only the step has. TensorFlow's masters use it to sum many tensors.
func temporaryVariable(s *site) (kernel, error) {
	d := s.dtype("dtype", tensor.Float32)
	shape, ok := s.node.Attrs["shape"].(graph.Shape)
	if !ok || !shape.Known() {
		return nil, fmt.Errorf("attribute shape: expected sizes that are known")
	}
	name := s.str("var_name", s.node.Name)
	return func(c call) error {
		t, err := c.alloc(d, shape.At(1)...)
		if err != nil {
			return err
		}
		c.out[0] = Value{Resource: &hostVariable{name: name, order: variables.Add(1), t: t}}
		return nil
	}, nil
}

// destroyTemporary outputs the value of a temporary variable, which has no other users then.
func destroyTemporary(c call) error {
	t, err := load(c.in[0])
	c.set(0, t)
	return err
}
