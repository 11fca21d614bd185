package eager

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goestimator/goestimator/tensor"
)

// ngramTree has the n-grams of a pool: a node for each prefix, with the column that counts it, or -1.
type ngramTree[T comparable] struct {
	longer map[T]*ngramTree[T]
	column int
}

func (n *ngramTree[T]) next(v T) *ngramTree[T] {
	if n.longer == nil {
		n.longer = map[T]*ngramTree[T]{}
	}
	if n.longer[v] == nil {
		n.longer[v] = &ngramTree[T]{column: -1}
	}
	return n.longer[v]
}

// ngramRange has the lengths that count, and how many elements may be skipped between two elements of an n-gram.
type ngramRange struct{ least, most, skips int }

func ngramCounts(s *site) (kernel, error) {
	r := ngramRange{s.count("least", 1, 1<<20), s.count("most", 1, 1<<20), s.count("skips", 0, 1<<20)}
	if r.least < 1 || r.most < r.least {
		return nil, fmt.Errorf("n-grams of %d to %d elements", r.least, r.most)
	}
	texts := &ngramCounter[string]{r: r, values: textsOf, same: sameTexts}
	ints, longs := numberCounter[int32](r), numberCounter[int64](r)
	return func(c call) error {
		if len(c.in) != 4 || c.t(0).DType != c.t(1).DType {
			return fmt.Errorf("expected input and pool of one type, got %v and %v", c.t(0).DType, c.t(1).DType)
		}
		switch c.t(0).DType {
		case tensor.String:
			return texts.count(c)
		case tensor.Int32:
			return ints.count(c)
		case tensor.Int64:
			return longs.count(c)
		}
		return fmt.Errorf("type %v %w", c.t(0).DType, ErrUnsupported)
	}, nil
}

func textsOf(t *tensor.Tensor) []string {
	all := make([]string, t.Len())
	for i, s := range t.Strings {
		all[i] = string(s)
	}
	return all
}

func sameTexts(texts []string, t *tensor.Tensor) bool {
	return slices.EqualFunc(texts, t.Strings, func(s string, b []byte) bool { return s == string(b) })
}

// ngramCounter counts n-grams of elements of one type. It keeps the tree of the last pool, which is almost always a constant.
type ngramCounter[T comparable] struct {
	r      ngramRange
	values func(*tensor.Tensor) []T
	same   func([]T, *tensor.Tensor) bool
	last   atomic.Pointer[ngramPool[T]]
}

func numberCounter[T int32 | int64](r ngramRange) *ngramCounter[T] {
	values := tensor.Values[T]
	return &ngramCounter[T]{r: r, values: values, same: func(pool []T, t *tensor.Tensor) bool { return slices.Equal(pool, values(t)) }}
}

// ngramPool is a pool, with the tree made from it.
type ngramPool[T comparable] struct {
	elements        []T
	starts, columns []int
	tree            *ngramTree[T]
	width           int
}

// pool returns the pool of a call.
func (g *ngramCounter[T]) pool(c call) (*ngramPool[T], error) {
	starts, err := c.vector("starts", c.t(2))
	if err != nil {
		return nil, err
	}
	columns, err := c.vector("columns", c.t(3))
	if err != nil {
		return nil, err
	}
	if p := g.last.Load(); p != nil && slices.Equal(p.starts, starts) && slices.Equal(p.columns, columns) && g.same(p.elements, c.t(1)) {
		return p, nil
	}
	if err := c.room(c.t(1).Len(), 160); err != nil {
		return nil, err
	}
	p := &ngramPool[T]{elements: slices.Clone(g.values(c.t(1))), starts: starts, columns: columns}
	if p.tree, p.width, err = poolTree(g.r, p.elements, starts, columns); err != nil {
		return nil, err
	}
	g.last.Store(p)
	return p, nil
}

func (g *ngramCounter[T]) count(c call) error {
	p, err := g.pool(c)
	if err != nil {
		return err
	}
	if err := c.room(c.t(0).Len(), stringHeader); err != nil {
		return err
	}
	in, shape := g.values(c.t(0)), c.t(0).Shape
	rows, n := 1, len(in)
	switch len(shape) {
	case 0, 1:
		shape = []int{p.width}
	case 2:
		rows, n, shape = shape[0], shape[1], []int{shape[0], p.width}
	default:
		return fmt.Errorf("expected a vector or a matrix, got shape %v", shape)
	}
	dst, err := outputOf[float32](c, 0, shape...)
	if err != nil {
		return err
	}
	if len(in) == 0 || len(dst) == 0 {
		return nil
	}
	for i := range rows {
		if err := countRow(c, g.r, dst[i*p.width:(i+1)*p.width], in[i*n:(i+1)*n], p.tree); err != nil {
			return err
		}
	}
	return nil
}

// poolTree makes the tree of a pool, and returns the number of columns.
func poolTree[T comparable](r ngramRange, pool []T, starts, columns []int) (*ngramTree[T], int, error) {
	tree, width, next := &ngramTree[T]{column: -1}, 0, 0
	for _, v := range columns {
		if v < 0 || v >= 1<<31-1 {
			return nil, 0, fmt.Errorf("column %d of an n-gram", v)
		}
		width = max(width, v+1)
	}
	for k, at := range starts {
		end := len(pool)
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		if at < 0 || end < at || end > len(pool) || (end-at)%(k+1) != 0 {
			return nil, 0, fmt.Errorf("n-grams of %d elements are at %d to %d of a pool of %d", k+1, at, end, len(pool))
		}
		for ; at < end; at += k + 1 {
			if next >= len(columns) {
				return nil, 0, fmt.Errorf("%d columns: expected one for each n-gram", len(columns))
			}
			if k+1 >= r.least && k+1 <= r.most {
				node := tree
				for _, v := range pool[at : at+k+1] {
					node = node.next(v)
				}
				node.column = columns[next]
			}
			next++
		}
	}
	return tree, width, nil
}

// countRow counts the n-grams of a row. Single elements count once, whatever the number of skips.
func countRow[T comparable](c call, r ngramRange, dst []float32, row []T, tree *ngramTree[T]) error {
	least, left := r.least, uninterrupted
	for step := 1; step <= r.skips+1 && step*(least-1) < len(row); step++ {
		for from := 0; from+step*(least-1) < len(row); from++ {
			node := tree
			for size, at := 1, from; size <= r.most && at < len(row); size, at = size+1, at+step {
				if left--; left < 0 {
					if err := c.ctx.Err(); err != nil {
						return err
					}
					left = uninterrupted
				}
				if node = node.longer[row[at]]; node == nil {
					break
				}
				if size >= least && node.column >= 0 {
					dst[node.column]++
				}
			}
		}
		if least == 1 {
			if least++; least > r.most {
				break
			}
		}
	}
	return nil
}
