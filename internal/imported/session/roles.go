package session

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// inputRole returns what the engine must know about input k of n when it compiles a node.
func inputRole(op string, k, n int) ops.Role {
	if d := ops.Find(op); d != nil {
		return d.InputAt(k, n).Role
	}
	return ops.RoleValue
}

// eagerOps has ops of the engine that stay eager: they mean something else here, are values that a plan has anyway, or occur in programs only.
var eagerOps = map[*ops.Def]bool{ops.NoOp: true, ops.Const: true, ops.AssignVariableOp: true, ops.AssignAddVariableOp: true, ops.AssignSubVariableOp: true,
	ops.RaggedTensorToTensor: true, ops.Shape: true, ops.Size: true, ops.Rank: true,
	ops.NearestBFloat16: true, ops.TruncatedBFloat16: true, ops.NearestFloat16: true}

// compiles reports whether programs have a form of the op.
func compiles(op string) bool {
	d := ops.Find(op)
	switch {
	case d == nil || eagerOps[d]:
		return false
	case d.State == ops.Fed || d.State == ops.Handle || d.State == ops.Random:
		return false
	}
	return engine.Supported(op) || forms[d] != nil
}
