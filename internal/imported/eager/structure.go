package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// structureOps are constants, inputs and what passes values on.
var structureOps = map[string]opDef{
	"Const":                  {in: 0, out: 1, make: constant},
	"Placeholder":            {in: 0, out: 1, make: placeholder},
	"PlaceholderV2":          {in: 0, out: 1, make: placeholder},
	"PlaceholderWithDefault": {in: 1, out: 1, opaque: true, make: plain(pass)},
	"Identity":               {in: 1, out: 1, opaque: true, make: plain(pass)},
	"RefIdentity":            {in: 1, out: 1, opaque: true, make: plain(pass)},
	"Snapshot":               {in: 1, out: 1, make: plain(pass)},
	"StopGradient":           {in: 1, out: 1, make: plain(pass)},
	"PreventGradient":        {in: 1, out: 1, make: plain(pass)},
	"IdentityN":              {in: variadic, opaque: true, make: identityN},
	"Print":                  {in: variadic, out: 1, opaque: true, make: plain(printed)}, // a server's log is no place for them
	"PrintV2":                {in: 1, make: plain(func(call) error { return nil })},
	"NoOp":                   {in: variadic, opaque: true, make: plain(func(call) error { return nil })},
	"ControlTrigger":         {in: variadic, opaque: true, make: plain(func(call) error { return nil })},
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

// printed passes the first input on, without its message.
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
