package dataset

import (
	"fmt"
	"sync/atomic"

	"github.com/goestimator/goestimator/tensor"
)

// Limits on the iterators of a pass: datasets can nest, and functions can make datasets.
const (
	maxDepth = 10_000
	maxOpen  = 1 << 17
	// maxAlone is maxOpen for the pass of a single request.
	maxAlone = 1 << 13
)

// Pass is what the iterators of one pass share.
type Pass struct {
	Room  *Room
	Limit int // the maximum bytes of one tensor
	// Pay pays for a record that was read, as long as it lives; nil: records are not counted.
	Pay func(*tensor.Tensor) error
	// Alone says that nothing runs in the background: elements are made when they are asked for.
	Alone bool

	top   *Pass        // the outermost pass; nil: this one
	depth int          // nesting depth of iterators
	open  atomic.Int64 // open iterators of the outermost pass, counted in top
}

// begin begins a pass over a dataset that another dataset reads.
func (p *Pass) begin(d Dataset) (Iterator, error) {
	top := p.top
	if top == nil {
		top = p
	}
	if p.depth == maxDepth {
		return nil, fmt.Errorf("%w: more than %d datasets, one in another", ErrLimit, maxDepth)
	}
	most := int64(maxOpen)
	if p.Alone {
		most = maxAlone
	}
	if top.open.Add(1) > most {
		top.open.Add(-1)
		return nil, fmt.Errorf("%w: a pass over more than %d datasets at the same time", ErrLimit, most)
	}
	in, err := d.Iterator(&Pass{Room: p.Room, Limit: p.Limit, Pay: p.Pay, Alone: p.Alone, top: top, depth: p.depth + 1})
	if err != nil {
		top.open.Add(-1)
		return nil, err
	}
	return &counted{in, top}, nil
}

// counted is an Iterator that counts as open until it is closed.
type counted struct {
	Iterator
	top *Pass // nil if it is closed
}

func (c *counted) Close() {
	c.Iterator.Close()
	if c.top != nil {
		c.top.open.Add(-1)
		c.top = nil
	}
}
