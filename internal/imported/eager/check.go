package eager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// TypeError says that an op has no kernel for an element type. It wraps ErrUnsupported.
type TypeError struct {
	Attr  string
	Type  tensor.DType
	Takes []tensor.DType // the types with a kernel, sorted
}

// Error names the types.
func (e *TypeError) Error() string {
	names := make([]string, len(e.Takes))
	for i, d := range e.Takes {
		names[i] = d.String()
	}
	return fmt.Sprintf("%s = %v is not supported: expected %s", e.Attr, e.Type, strings.Join(names, ", "))
}

// Unwrap returns ErrUnsupported.
func (e *TypeError) Unwrap() error { return ErrUnsupported }

// Check reports why a node cannot be run with any inputs: there is no kernel for the op, or the kernel does not support
// an attribute or an element type. It runs nothing, and creates nothing that outlives the call.
func Check(n *graph.Node) error {
	if _, err := prepare(n, nil); err != nil {
		return err
	}
	d := ops.Find(n.Op)
	for _, a := range typeAttrs(d) {
		t, ok := n.Attrs[a.Name].(tensor.DType)
		if !ok {
			t = d.DefaultType(a.Name)
		}
		if t == tensor.Invalid {
			continue
		}
		if err := checkType(d, a, t); err != nil {
			return &Error{n.Name, n.Op, err}
		}
	}
	return nil
}

// typeAttrs returns the attributes that state one element type, with the types that the definition allows.
func typeAttrs(d *ops.Def) (all []ops.Attr) {
	for _, a := range d.Attrs() {
		if a.Kind == "type" {
			all = append(all, a)
		}
	}
	for _, a := range slices.Concat(d.Inputs(), d.Outputs()) {
		known := func(b ops.Attr) bool { return b.Name == a.TypeAttr }
		if a.TypeAttr != "" && !a.List && !slices.ContainsFunc(all, known) {
			all = append(all, ops.Attr{Name: a.TypeAttr, Kind: "type"})
		}
	}
	return all
}

// checkType fails if an attribute of an op does not allow a type. Resources and lists are allowed for ops that say so.
func checkType(d *ops.Def, a ops.Attr, t tensor.DType) error {
	if (t == tensor.Resource || t == tensor.Variant) && (d.Opaque || d.Lists || d.State == ops.Fed || listed(d)) {
		return nil
	}
	takes := takes(d, a.Name, a.Types)
	if slices.Contains(takes, t) {
		return nil
	}
	takes = slices.Clone(takes)
	slices.Sort(takes)
	return &TypeError{a.Name, t, takes}
}

// listed reports whether an op has list inputs or outputs, whose elements may be lists.
func listed(d *ops.Def) bool {
	return slices.ContainsFunc(slices.Concat(d.Inputs(), d.Outputs()), func(a ops.Arg) bool { return a.TypeAttr == "" && a.Type == tensor.Variant })
}
