package eager

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// edit calls f with the values of variables, which it may change in place. Nobody else sees or changes them meanwhile. Values that were
// read earlier do not change: f then gets copies, which become the variables' values.
func (c call) edit(refs []Value, f func(values []*tensor.Tensor) error) error {
	vars := make([]*hostVariable, len(refs))
	for i, r := range refs {
		v, ok := r.Resource.(*hostVariable)
		if !ok {
			return fmt.Errorf("input %d: expected a variable on the host, got %T", i, r.Resource)
		}
		if slices.Contains(vars[:i], v) {
			return fmt.Errorf("input %d: variable %q is there twice", i, v.name)
		}
		vars[i] = v
	}
	for _, v := range slices.SortedFunc(slices.Values(vars), func(a, b *hostVariable) int { return cmp.Compare(a.order, b.order) }) {
		v.mu.Lock()
		defer v.mu.Unlock()
	}
	values := make([]*tensor.Tensor, len(vars))
	for i, v := range vars {
		if err := v.own(c); err != nil {
			return err
		}
		values[i] = v.t
	}
	return f(values)
}

// own makes sure that the value is not shared. The variable is locked.
func (v *hostVariable) own(c call) error {
	if v.t == nil {
		return v.uninitialized()
	}
	if !v.shared.Load() {
		return nil
	}
	t, err := c.alloc(v.t.DType, v.t.Shape...)
	if err != nil {
		return err
	}
	copyCells(t, 0, v.t, 0, t.Len())
	v.t = t
	v.shared.Store(false)
	return nil
}

// look calls f with the value of a variable, which f must not keep.
func look(ref Value, f func(t *tensor.Tensor) error) error {
	v, ok := ref.Resource.(*hostVariable)
	if !ok {
		t, err := load(ref)
		if err != nil {
			return err
		}
		return f(t)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.t == nil {
		return v.uninitialized()
	}
	return f(v.t)
}

// forward passes the reference on if the op has an output for it.
func (c call) forward() {
	if len(c.out) > 0 {
		c.out[0] = Value{Resource: c.in[0].Resource}
	}
}

// errShapes says that updates do not fit a variable.
var errShapes = errors.New("shapes do not fit")
