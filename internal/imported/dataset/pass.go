package dataset

import (
	"fmt"
	"sync/atomic"

	"github.com/goestimator/goestimator/tensor"
)

// Bounds of the iterators of a pass: datasets nest, and functions make them.
const (
	maxDepth = 10_000
	maxOpen  = 1 << 17
	// maxAlone is maxOpen of a pass of one request.
	maxAlone = 1 << 13
)

// Pass is what the iterators of one pass share.
type Pass struct {
	Room  *Room
	Limit int // the most bytes of one tensor
	// Pay pays for a record that was read, as long as it lives; nil: records are not counted.
	Pay func(*tensor.Tensor) error
	// Alone says that nothing runs in the background: elements are made when they are asked for.
	Alone bool

	top   *Pass        // of the whole pass; nil: this one
	depth int          // of iterators in others
	open  atomic.Int64 // iterators of the whole pass, in top
}

// begin begins a pass over a dataset that another one reads.
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
	top *Pass // nil: it is closed
}

func (c *counted) Close() {
	c.Iterator.Close()
	if c.top != nil {
		c.top.open.Add(-1)
		c.top = nil
	}
}
