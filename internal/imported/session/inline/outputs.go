package inline

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// outputOffset returns the position of the first tensor in a node's output of the given name. Ops without a
// definition have one output, of any name.
func outputOffset(n *nodeDef, name string) (int, error) {
	op := ops.Find(n.GetOp())
	if op == nil || len(op.Outputs()) <= 1 {
		return 0, nil
	}
	at := 0
	for _, o := range op.Outputs() {
		if o.Name == name {
			return at, nil
		}
		switch {
		case o.List:
			at += len(n.GetAttr()[o.TypeAttr].GetList().GetType())
		case o.Count != "":
			at += int(n.GetAttr()[o.Count].GetI())
		default:
			at++
		}
		if at < 0 || at > maxNodes {
			return 0, fmt.Errorf("op %s: output %q: more tensors than expected", n.GetOp(), name)
		}
	}
	return 0, fmt.Errorf("op %s has no output %q", n.GetOp(), name)
}
