package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// removePaid removes entries from a table. It pays for the remaining entries, which are copied.
func removePaid(t *Table, c call) error {
	if err := t.refuseMarks(c.t(1)); err != nil {
		return err
	}
	return t.pay(c, t.Len(), func() error { return t.remove(c.t(1)) })
}

// remove removes the entries of keys that the table has.
func (t *Table) remove(keys *tensor.Tensor) error {
	if keys.DType != t.key {
		return fmt.Errorf("table %q has keys of type %v, got %v", t.name, t.key, keys.DType)
	}
	if !t.mutable {
		return fmt.Errorf("table %q cannot be changed", t.name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.data.Load()
	if d == nil {
		return nil
	}
	place, err := d.places(keys)
	if err != nil {
		return err
	}
	gone := map[int]bool{}
	for i := range keys.Len() {
		if row := place(i); row >= 0 {
			gone[row] = true
		}
	}
	all, err := t.keyTensor(d)
	if err != nil || len(gone) == 0 {
		return err
	}
	left, width := all.Len()-len(gone), product(t.shape)
	k, v := tensor.New(t.key, left), tensor.New(t.value, slices.Concat([]int{left}, t.shape)...)
	for row, to := 0, 0; row < all.Len(); row++ {
		if !gone[row] {
			copyCells(k, to, all, row, 1)
			copyCells(v, to*width, d.values, row*width, width)
			to++
		}
	}
	if d, err = t.put(nil, k, v, false); err == nil {
		t.data.Store(d)
	}
	return err
}
