package dataset

import (
	"context"
	"io"
	"runtime"
	"sync"
)

// Memory keeps the elements of a dataset for later passes. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	all  []Element
	full bool
	kept kept
	lost runtime.Cleanup // gives the memory back if nobody calls Close
}

// kept is a number of bytes of a Room.
type kept struct {
	room *Room
	n    int
}

func (k kept) give() { k.room.give(k.n) }

// Close forgets the elements.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		m.lost.Stop()
		m.kept.give()
	}
	m.all, m.full = nil, false
}

// fill makes elements the content, unless there is content already.
func (m *Memory) fill(all []Element, k kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		k.give()
		return
	}
	m.all, m.full, m.kept = all, true, k
	m.lost = runtime.AddCleanup(m, kept.give, k)
}

func (m *Memory) content() ([]Element, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all, m.full
}

// Cache is the Dataset that takes its elements from memory once a pass over the input has reached its end.
func Cache(in Dataset, m *Memory) Dataset { return &cache{in, m} }

type cache struct {
	in Dataset
	m  *Memory
}

func (c *cache) Cardinality() int64 { return c.in.Cardinality() }

func (c *cache) Iterator(p *Pass) (Iterator, error) {
	if all, full := c.m.content(); full {
		return elements(all).Iterator(p)
	}
	in, err := p.begin(c.in)
	if err != nil {
		return nil, err
	}
	return &caching{cache: c, p: p, in: in}, nil
}

type caching struct {
	*cache
	p     *Pass
	in    Iterator
	all   []Element
	held  int
	ended bool
}

func (c *caching) Next(ctx context.Context) (Element, error) {
	if c.ended {
		return nil, io.EOF
	}
	e, err := c.in.Next(ctx)
	if err == io.EOF {
		c.ended = true
		c.m.fill(c.all, kept{c.p.Room, c.held})
		c.all, c.held = nil, 0
	}
	if err != nil {
		return nil, err
	}
	n := e.bytes()
	if err := c.p.Room.take(n); err != nil {
		return nil, err
	}
	c.held += n
	c.all = append(c.all, e)
	return e, nil
}

func (c *caching) Close() {
	c.in.Close()
	c.p.Room.give(c.held)
	c.all, c.held = nil, 0
}
