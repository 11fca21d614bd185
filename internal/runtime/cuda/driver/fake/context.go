package fake

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Context is a driver.Context in ordinary memory.
type Context struct {
	d    *Driver
	info driver.Info

	mu     sync.Mutex
	blocks map[driver.Ptr]*block // by start
	starts []driver.Ptr          // of blocks, sorted
	pinned map[*pinned]bool
	next   driver.Ptr
	used   int64
	live   map[string]int // streams, events, modules, graphs
	lost   error          // the sticky error
	closed bool
}

// enter starts every call: it checks for injected faults and a lost or closed context.
func (c *Context) enter(call string) error {
	if err := c.d.fault(call); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return failed(call, driver.CodeInvalidContext, "the context is closed")
	}
	return c.lost
}

// fail keeps the first error of the work, and makes the context lost.
func (c *Context) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		c.lost = err
	}
}

func (c *Context) lostError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

func (c *Context) count(what string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[what] += by
}

// Close ends the context. It frees nothing: Leaks lists what was left.
func (c *Context) Close() error {
	if err := c.d.fault("Close"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return failed("Close", driver.CodeInvalidContext, "the context is closed")
	}
	c.closed = true
	return nil
}

func (c *Context) leaks() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, b := range c.blocks {
		errs = append(errs, fmt.Errorf("%d bytes of the GPU at %#x were not freed", b.size, b.start))
	}
	for p := range c.pinned {
		errs = append(errs, fmt.Errorf("%d bytes of pinned memory were not freed", len(p.mem)))
	}
	for _, what := range []string{"stream", "event", "module", "graph"} {
		if n := c.live[what]; n != 0 {
			errs = append(errs, fmt.Errorf("%d of kind %s were not closed", n, what))
		}
	}
	if !c.closed {
		errs = append(errs, errors.New("not closed"))
	}
	return errors.Join(errs...)
}

// find returns the block that contains p, nil for none. The caller holds mu.
func (c *Context) find(p driver.Ptr) *block {
	i, exact := slices.BinarySearch(c.starts, p)
	if !exact {
		i--
	}
	if i < 0 {
		return nil
	}
	if b := c.blocks[c.starts[i]]; p < b.start+driver.Ptr(b.size) {
		return b
	}
	return nil
}
