package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Identity is categorical_column_with_identity: the value is the id.
type Identity struct {
	Key     string
	Size    int  // number of ids
	Default *int // id of values outside [0, Size); nil: negative values are left out, larger ones are an error
}

// Name is the key.
func (c *Identity) Name() string { return c.Key }

// String is like identity(movie, 1700).
func (c *Identity) String() string {
	return fmt.Sprintf("identity(%s, %d%s)", c.Key, c.Size, defaultText(c.Default))
}

func defaultText(d *int) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf(", default=%d", *d)
}

// Buckets is Size.
func (c *Identity) Buckets() int { return c.Size }

func (c *Identity) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if d := c.Default; d != nil && (*d < 0 || *d >= c.Size) {
		return fmt.Errorf("default must lie in [0, %d), got %d", c.Size, *d)
	}
	return positive("the number of buckets", c.Size)
}

func (c *Identity) parents() []Column { return nil }
func (c *Identity) reads() []read     { return categoryRead(c.Key, tensor.Int64) }

func (c *Identity) ids(b *batch) (*idList, error)   { return c.lookup(b, false) }
func (c *Identity) steps(b *batch) (*idList, error) { return c.lookup(b, true) }

func (c *Identity) lookup(b *batch, steps bool) (*idList, error) {
	return b.ids(c, stepsOf(steps), func(l *idList) (*idList, error) {
		t, err := b.tokens(c.Key, steps)
		if err != nil {
			return nil, err
		}
		x, err := b.ints(c.Key)
		if err != nil {
			return nil, err
		}
		id := func(v int) (int64, error) {
			switch x := x[v]; {
			case x >= 0 && x < int64(c.Size):
				return x, nil
			case c.Default != nil:
				return int64(*c.Default), nil
			case x < 0:
				return -1, nil
			}
			return 0, fmt.Errorf("expected an id below %d: correct num_buckets, or set a default", c.Size)
		}
		return newIDs(l, t, id, func(i int, err error) error { return b.bad(c.Key, t.offsets, i, showInt(x[t.value(i)]), err) })
	})
}
