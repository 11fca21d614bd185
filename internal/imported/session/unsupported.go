package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// UnsupportedError lists the ops of a model that goestimator does not have.
type UnsupportedError struct {
	Ops map[string][]string // op -> nodes
	Why error               // what the engine says of one of them, or nil
}

// Error names each op and one of its nodes.
func (e *UnsupportedError) Error() string {
	var parts []string
	for op, nodes := range e.Ops {
		parts = append(parts, fmt.Sprintf("%s (node %s, %d in all)", op, nodes[0], len(nodes)))
	}
	slices.Sort(parts)
	s := "the model needs ops that are not supported: " + strings.Join(parts, ", ")
	if e.Why != nil {
		s += "; " + e.Why.Error()
	}
	return s
}

// Unwrap says of what kind the error is.
func (e *UnsupportedError) Unwrap() error { return eager.ErrUnsupported }

// checkOps names all ops that nobody has.
func checkOps(plans []*plan) error {
	unsupported, seen := map[string][]string{}, map[*graph.Node]bool{}
	for _, p := range plans {
		for _, n := range p.nodes {
			if !seen[n] && (p.eagerly || !compiles(n.Op)) && !serves(n.Op) {
				unsupported[n.Op] = append(unsupported[n.Op], n.Name)
			}
			seen[n] = true
		}
	}
	if len(unsupported) > 0 {
		return &UnsupportedError{Ops: unsupported}
	}
	return nil
}

// serves reports whether nodes of the op can be computed in a served model. Queues are not: a request would wait for another one. Arrays and stacks are rewritten before, or not supported.
func serves(op string) bool {
	d := ops.Find(op)
	return eager.Supported(op) && (d == nil || d.State != ops.Queues)
}

// check fails where signatures read variables that have no value after all was restored and initialised, and names them:
// every request would fail. What a signature itself assigns first need not be there.
func (v *variables) check(plans []*plan) error {
	unsupported := map[string]bool{}
	for _, p := range plans {
		assigned := map[string]bool{}
		for _, n := range p.nodes {
			for _, in := range n.Inputs {
				name, ok := v.of(in)
				if in.DType() != tensor.Resource || !ok {
					continue
				}
				switch n.Op {
				case "AssignVariableOp":
					assigned[name] = true
				case "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape":
					if _, has := v.typ(name); !has && !assigned[name] {
						unsupported[name] = true
					}
				}
			}
		}
	}
	if len(unsupported) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(unsupported))
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Errorf("variables %w: %s%s: they are not in %s, and no init op assigns them", eager.ErrUninitialized,
		strings.Join(names, ", "), more, savedmodel.VariablesDir)
}
