package engine

import (
	"errors"
	"fmt"
)

// nested are indices into the first depth dimensions of a tensor: each row names a part of it.
type nested struct {
	ids   indices
	depth int
	of    *value
}

// newNested checks the indices into of; parts is the tensor of the parts that they name.
func newNested(ids indices, of, parts *value) (*nested, error) {
	lead := ids.v.typ.Shape.Dims
	if len(lead) == 0 || !lead[len(lead)-1].Static() {
		return nil, fmt.Errorf("expected indices [..., depth], got shape %v", ids.v.typ.Shape)
	}
	n := &nested{ids, lead[len(lead)-1].Const, of}
	if n.depth > len(of.dims) {
		return nil, fmt.Errorf("indices of %d dimensions in a tensor of shape %v", n.depth, of.typ.Shape)
	}
	return n, errors.Join(checkSame(of, parts), checkShape("parts", parts, lead[:len(lead)-1], of.typ.Shape.Dims[n.depth:]))
}

// parts returns the number of parts and the elements of each.
func (n *nested) parts() (count, size int) {
	size = 1
	for _, d := range n.of.dims[n.depth:] {
		size *= d
	}
	count = 1
	for _, d := range n.ids.v.dims[:len(n.ids.v.dims)-1] {
		count *= d
	}
	return count, size
}

// at returns the first element of part r.
func (n *nested) at(r, size int) (int, error) {
	k := 0
	for i := range n.depth {
		id := n.ids.at(r*n.depth + i)
		if id < 0 || id >= n.of.dims[i] {
			return 0, &IndexError{id, r*n.depth + i, n.of.dims[i]}
		}
		k = k*n.of.dims[i] + id
	}
	return k * size, nil
}

// compileGatherNd takes params and indices.
func compileGatherNd(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	n, err := newNested(ids, x, out)
	return func() error {
		count, size := n.parts()
		for r := range count {
			from, err := n.at(r, size)
			if err != nil {
				return err
			}
			copy(out.mem[r*size*out.elem:(r+1)*size*out.elem], x.mem[from*x.elem:(from+size)*x.elem])
		}
		return nil
	}, err
}

// scatterNd takes indices, updates and the shape, which is not read.
func scatterNd[T number](c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	ids, err := c.integers(0)
	if err != nil {
		return nil, err
	}
	x, out := c.in[1], c.out[0]
	n, err := newNested(ids, out, x)
	if err := errors.Join(err, checkTypes[T](x, out)); err != nil {
		return nil, err
	}
	return func() error {
		d, src := view[T](out), view[T](x)
		clear(d)
		count, size := n.parts()
		for r := range count {
			at, err := n.at(r, size)
			if err != nil {
				return err
			}
			for i, e := range src[r*size : (r+1)*size] {
				d[at+i] += e
			}
		}
		return nil
	}, nil
}

// scatterUpdate takes a tensor, indices and updates, which replace parts of the tensor. Of equal indices, the last one wins.
func scatterUpdate(c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	x, by, out := c.in[0], c.in[2], c.out[0]
	n, err := newNested(ids, out, by)
	return func() error {
		copy(out.bytes(), x.bytes())
		count, size := n.parts()
		for r := range count {
			at, err := n.at(r, size)
			if err != nil {
				return err
			}
			copy(out.mem[at*out.elem:(at+size)*out.elem], by.mem[r*size*by.elem:(r+1)*size*by.elem])
		}
		return nil
	}, errors.Join(err, checkSame(x, out), checkShape("result", out, x.typ.Shape.Dims))
}
