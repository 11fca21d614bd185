package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/stablehlograph"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Gap is something that a model needs and goestimator does not have.
type Gap struct {
	Op    string
	ONNX  bool     // Op is an ONNX operator that cannot be translated
	Why   string   // the part of the op without a kernel, such as a type; "": the op has no kernel at all
	Nodes []string // the nodes that need it
}

// UnsupportedError lists what a model needs and goestimator does not have.
type UnsupportedError struct {
	Gaps []Gap // sorted by op
	Why  error // what the engine says about one of them, or nil
}

// Error names each op and one of its nodes.
func (e *UnsupportedError) Error() string {
	parts := make([]string, len(e.Gaps))
	for i, g := range e.Gaps {
		parts[i] = fmt.Sprintf("%s (node %s, %d in all)", g.Op, g.Nodes[0], len(g.Nodes))
		if g.Why != "" {
			parts[i] += ": " + g.Why
		}
	}
	s := "the model needs ops that are not supported: " + strings.Join(parts, ", ")
	if e.Why != nil {
		s += "; " + e.Why.Error()
	}
	return s
}

// Unwrap returns eager.ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return eager.ErrUnsupported }

// GRPCStatus returns the error as a gRPC status.
func (e *UnsupportedError) GRPCStatus() *status.Status {
	return status.New(codes.Unimplemented, e.Error())
}

// Missing returns all gaps that an error of Load lists.
func Missing(err error) (all []Gap) {
	if u, ok := err.(*UnsupportedError); ok {
		return u.Gaps
	}
	switch x := err.(type) {
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			all = append(all, Missing(e)...)
		}
	case interface{ Unwrap() error }:
		all = Missing(x.Unwrap())
	}
	return all
}

// gaps collects what is missing.
type gaps map[[2]string][]string // by op and reason

// add notes that a node needs what err says is missing; nil means the whole op.
func (g gaps) add(n *graph.Node, node string, err error) {
	why := ""
	if err != nil {
		if inner := (*eager.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		why = err.Error()
	}
	key := [2]string{n.Op, why}
	g[key] = append(g[key], node)
}

// err returns the error that lists what is missing, or nil.
func (g gaps) err(why error) error {
	if len(g) == 0 {
		return nil
	}
	e := &UnsupportedError{Why: why}
	for key, nodes := range g {
		e.Gaps = append(e.Gaps, Gap{Op: key[0], Why: key[1], Nodes: nodes})
	}
	slices.SortFunc(e.Gaps, func(a, b Gap) int { return cmp.Or(strings.Compare(a.Op, b.Op), strings.Compare(a.Why, b.Why)) })
	return e
}

// checkNodes names everything that the plans and the functions of branches and loops need and nobody has. A node that only a program may
// support is doubtful: see division.available.
func (s *Session) checkNodes(plans []*plan, inner []function) error {
	c := checker{s: s, missing: gaps{}}
	seen := map[*graph.Node]bool{}
	for _, p := range plans {
		for _, n := range p.nodes {
			if !seen[n] {
				c.node(n, n.Name, !p.eagerly && compiles(n.Op))
			}
			seen[n] = true
		}
	}
	for _, f := range inner {
		for _, n := range f.graph.Nodes() {
			c.node(n, n.Name+" of function "+f.name, false)
		}
	}
	if err := c.missing.err(nil); err != nil {
		return err
	}
	if c.wrong != nil {
		return invalid("%v", c.wrong)
	}
	return nil
}

// checker checks the nodes of a model.
type checker struct {
	s       *Session
	missing gaps
	wrong   error // of nodes that TensorFlow would not run either
}

// node checks one node; compiled says whether it has a form for programs.
func (c *checker) node(n *graph.Node, name string, compiled bool) {
	err := error(nil)
	if missing := stablehlograph.Gaps(n); missing != nil {
		for _, g := range missing {
			c.missing[[2]string{g.Op, g.Why}] = append(c.missing[[2]string{g.Op, g.Why}], slices.Repeat([]string{name}, g.N)...)
		}
		return
	}
	switch {
	case !serves(n.Op) && compiled: // all of the engine's ops have kernels
		return
	case !serves(n.Op):
		c.missing.add(n, name, nil)
		return
	case !c.s.options.Check.Off:
		err = eager.Check(n)
	}
	switch typ := (*eager.TypeError)(nil); {
	case err == nil:
	case !errors.Is(err, eager.ErrUnsupported):
		c.wrong = errors.Join(c.wrong, err)
	case compiled && !errors.As(err, &typ): // programs support no type that kernels do not
		c.s.doubtful[n] = err
	default:
		c.missing.add(n, name, err)
	}
}

// serves reports whether a served model can compute nodes of the op. It cannot compute queues, as a request would wait for another one.
// Arrays and stacks are rewritten earlier, or not supported.
func serves(op string) bool {
	d := ops.Find(op)
	return eager.Supported(op) && (d == nil || d.State != ops.Queues || requestOps[d] || iteratorOps[d])
}

// check fails if signatures read variables that have no value after everything was restored and initialized, and names them:
// every request would fail. Variables that a signature assigns first may be unset.
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
