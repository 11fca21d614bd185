package yggdrasil

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// dataSpec reads the columns.
func (r *reader) dataSpec() error {
	return r.message("data_spec.pb", func(v field) error {
		if v.number != 1 {
			return nil
		}
		c := Column{}
		label := len(r.Columns) == r.Label
		err := v.message(func(v field) error { return r.column(&c, v, label) })
		r.Columns = append(r.Columns, c)
		return errors.Join(err, r.take(2*int(unsafe.Sizeof(c))))
	})
}

// column reads a field of a column. It keeps the words of categories only for the label.
func (r *reader) column(c *Column, v field, label bool) error {
	switch v.number {
	case 1:
		c.Kind = Kind(v.int())
	case 2:
		c.Name = string(v.data)
		return r.take(len(v.data))
	case 5:
		return v.message(func(v field) error {
			if v.number == 1 {
				c.Mean = v.double()
			}
			return nil
		})
	case 6:
		return v.message(func(v field) error { return r.categories(c, v, label) })
	case 8:
		return v.message(func(v field) (err error) {
			if v.number == 1 {
				c.Boundaries, err = v.floats(c.Boundaries)
			}
			return errors.Join(err, r.take(2*len(v.data)))
		})
	case 9:
		return v.message(func(v field) error {
			switch v.number {
			case 1:
				c.True = v.int()
			case 2:
				c.False = v.int()
			}
			return nil
		})
	}
	return nil
}

// categories reads a field of the categories of a column.
func (r *reader) categories(c *Column, v field, label bool) error {
	switch v.number {
	case 1:
		c.MostFrequent = v.int()
	case 2:
		if v.bits > math.MaxInt32 {
			return fmt.Errorf("column %q of %d categories", c.Name, v.bits)
		}
		c.Categories = int(v.bits)
	case 5:
		c.Integers = v.bool()
	case 7:
		if !label {
			return nil
		}
		w := Word{}
		err := v.message(func(v field) error {
			switch v.number {
			case 1:
				w.Text = string(v.data)
			case 2:
				return v.message(func(v field) error {
					if v.number == 1 {
						w.Index = v.int()
					}
					return nil
				})
			}
			return nil
		})
		c.Words = append(c.Words, w)
		return errors.Join(err, r.take(2*int(unsafe.Sizeof(w))+len(w.Text)))
	}
	return nil
}
