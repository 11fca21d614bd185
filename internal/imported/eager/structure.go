package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// structureOps are constants, inputs and ops that pass values on.
var structureOps = map[*ops.Def]maker{
	ops.Const:                  constant,
	ops.Placeholder:            placeholder,
	ops.PlaceholderV2:          placeholder,
	ops.PlaceholderWithDefault: plain(pass),
	ops.Identity:               plain(pass),
	ops.RefIdentity:            plain(pass),
	ops.Snapshot:               plain(pass),
	ops.GuaranteeConst:         plain(pass),
	ops.StopGradient:           plain(pass),
	ops.PreventGradient:        plain(pass),
	ops.IdentityN:              identityN,
	ops.Print:                  plain(printed), // a server's log has no place for its messages
	ops.PrintV2:                plain(func(call) error { return nil }),
	ops.NoOp:                   plain(func(call) error { return nil }),
	ops.ControlTrigger:         plain(func(call) error { return nil }),
}

func constant(s *site) (kernel, error) {
	t, ok := s.node.Attrs["value"].(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("attribute value: expected a tensor, got %T", s.node.Attrs["value"])
	}
	return func(c call) error {
		c.set(0, t)
		return nil
	}, nil
}

func placeholder(s *site) (kernel, error) {
	return func(call) error { return ErrFed }, nil
}

func pass(c call) error {
	c.out[0] = c.in[0]
	return nil
}

// printed passes on the first input, and drops the message.
func printed(c call) error {
	if len(c.in) == 0 {
		return fmt.Errorf("expected an input")
	}
	return pass(c)
}

func identityN(s *site) (kernel, error) {
	s.outputs = max(len(list[tensor.DType](s, "T")), len(s.node.Inputs))
	return func(c call) error {
		if len(c.in) != len(c.out) {
			return fmt.Errorf("expected %d inputs, got %d", len(c.out), len(c.in))
		}
		copy(c.out, c.in)
		return nil
	}, nil
}
