package eager

import "github.com/goestimator/goestimator/internal/compiler/ops"

// keepOps would keep tensors in a session. Only sessions within a process do that: TensorFlow's servers refuse them, and say so with
// these words.
var keepOps = map[*ops.Def]maker{
	ops.GetSessionHandle: withoutSession, ops.GetSessionHandleV2: withoutSession, ops.GetSessionTensor: withoutSession, ops.DeleteSessionTensor: withoutSession,
}

func withoutSession(s *site) (kernel, error) {
	op := s.node.Op
	if op == ops.GetSessionHandleV2.Name {
		op = ops.GetSessionHandle.Name
	}
	return func(call) error { return noSessionState(op) }, nil
}

// noSessionState is the error of an op that has no session to keep tensors in.
type noSessionState string

func (op noSessionState) Error() string { return string(op) + " called on null session state" }

func (op noSessionState) Unwrap() error { return ErrUninitialized }
