package eager

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// stackOps keep values of a loop's iterations for the loop that computes the gradients.
var stackOps = map[*ops.Def]maker{
	ops.StackV2: makeStack, ops.StackPushV2: plain(onStack(pushStack)), ops.StackPopV2: popStack,
	ops.StackCloseV2: plain(onStack(func(k *stack, _ call) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.closed, k.elements = true, nil
		return nil
	})),
}

// stack belongs to the step that made it: its handle does not leave the device.
type stack struct {
	name  string
	dtype tensor.DType
	most  int // maximum number of elements, -1 for any

	mu       sync.Mutex
	elements []*tensor.Tensor
	closed   bool
}

func makeStack(s *site) (kernel, error) {
	name, dtype := s.str("stack_name", ""), s.dtype("elem_type", tensor.Invalid)
	if name == "" {
		name = s.node.Name
	}
	return func(c call) error {
		most, err := integer("max_size", c.t(0))
		c.out[0].Resource = &stack{name: name, dtype: dtype, most: most}
		return err
	}, nil
}

// onStack returns a kernel whose input 0 is a stack.
func onStack(f func(k *stack, c call) error) kernel {
	return func(c call) error {
		k, ok := c.in[0].Resource.(*stack)
		if !ok {
			return fmt.Errorf("expected a stack, got %T", c.in[0].Resource)
		}
		return f(k, c)
	}
}

func pushStack(k *stack, c call) error {
	if c.t(1).DType != k.dtype {
		return fmt.Errorf("Must have type %v but got %v", k.dtype, c.t(1).DType)
	}
	if err := c.room(1, listHeader); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return fmt.Errorf("Stack[%s] has already been closed.", k.name)
	case k.most >= 0 && len(k.elements) >= k.most:
		return fmt.Errorf("Stack[%s] overflowed its max_size (%d)", k.name, k.most)
	}
	var err error
	if k.elements, err = grown(c.env.Payer, k.elements, listHeader+tensorHeader); err != nil {
		return err
	}
	k.elements = append(k.elements, c.t(1))
	c.set(0, c.t(1))
	return nil
}

func popStack(s *site) (kernel, error) {
	dtype := s.dtype("elem_type", tensor.Invalid)
	return onStack(func(k *stack, c call) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		last := len(k.elements) - 1
		switch {
		case k.closed:
			return fmt.Errorf("Stack[%s] has already been closed.", k.name)
		case last < 0:
			return fmt.Errorf("Stack[%s] is empty when calling Pop().", k.name)
		case dtype != k.dtype:
			return fmt.Errorf("Must have type %v but got %v", k.dtype, dtype)
		}
		c.set(0, k.elements[last])
		k.elements[last] = nil
		k.elements = k.elements[:last]
		return nil
	}), nil
}
