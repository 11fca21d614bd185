package eager

import "github.com/goestimator/goestimator/internal/compiler/ops"

// keepOps would keep tensors in a session. Only in-process sessions do that: TensorFlow's servers refuse these ops with
// this text.
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

// noSessionState is the error for an op that has no session to keep tensors in.
type noSessionState string

func (op noSessionState) Error() string { return string(op) + " called on null session state" }

func (op noSessionState) Unwrap() error { return ErrUninitialized }
