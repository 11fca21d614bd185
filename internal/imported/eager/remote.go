package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// remoteCall calls a function on the target device, which must belong to this task.
func remoteCall(s *site) (kernel, error) {
	l, f := s.layout(), s.function("f")
	s.outputs = len(list[tensor.DType](s, "Tout"))
	return func(c call) error {
		in := &inputs{c: c, l: l}
		target, args := in.text("target"), in.values("args")
		if in.err != nil {
			return in.err
		}
		if c.env != nil && c.env.Here != nil {
			here, err := c.env.Here(target)
			if err != nil {
				return err
			}
			if !here {
				return fmt.Errorf("a call of function %q on %q, a device of another task, %w: name a device of the task that calls it", f, target, ErrUnsupported)
			}
		}
		r, err := c.frame(f, len(args), len(c.out))
		if err != nil {
			return err
		}
		return r.call(c.ctx, c.env, args, c.out)
	}, nil
}
