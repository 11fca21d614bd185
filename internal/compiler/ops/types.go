package ops

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// MaxParts bounds the results of one node.
const MaxParts = 1 << 16

// Types sets the type and count attributes that follow from the types of a node's inputs, and returns the types of its results.
func (d *Def) Types(attrs map[string]any, in []tensor.DType) (out []tensor.DType, err error) {
	for i, t := range in {
		a := d.InputAt(i, len(in))
		if a.Count != "" {
			attrs[a.Count] = int64(len(in) - len(d.Inputs()) + 1)
		}
		switch {
		case a.List:
			list, _ := attrs[a.TypeAttr].([]tensor.DType)
			attrs[a.TypeAttr] = append(list, t)
		case a.TypeAttr != "":
			if had, ok := attrs[a.TypeAttr].(tensor.DType); ok && had != t {
				return nil, fmt.Errorf("inputs of types %v and %v", had, t)
			}
			attrs[a.TypeAttr] = t
		}
	}
	for _, o := range d.Outputs() {
		types, err := d.resultTypes(o, attrs)
		if err != nil {
			return nil, err
		}
		out = append(out, types...)
	}
	return out, nil
}

// resultTypes returns the types of one output's tensors.
func (d *Def) resultTypes(o Arg, attrs map[string]any) ([]tensor.DType, error) {
	if o.List {
		list, _ := attrs[o.TypeAttr].([]tensor.DType)
		return list, nil
	}
	t, count := o.Type, int64(1)
	if o.TypeAttr != "" {
		var ok bool
		if t, ok = attrs[o.TypeAttr].(tensor.DType); !ok {
			t = d.DefaultType(o.TypeAttr)
		}
	}
	if o.Count != "" {
		if count, _ = attrs[o.Count].(int64); count < 0 || count > MaxParts {
			return nil, fmt.Errorf("%d results of a node: expected at most %d", count, MaxParts)
		}
	}
	types := make([]tensor.DType, count)
	for i := range types {
		types[i] = t
	}
	return types, nil
}
