package fake

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const (
	firstAddress = driver.Ptr(0x7f00_0000_0000)
	alignment    = 256
	guardBytes   = 256 // after every block
	guardValue   = 0xA5
	undefined    = 0xFF // makes NaN of floats, -1 of integers
)

// block is an allocation with a guard after it.
type block struct {
	start driver.Ptr
	size  int
	mem   []byte // size + guardBytes
}

// Alloc returns memory that holds NaN.
func (c *Context) Alloc(size int) (driver.Ptr, error) {
	if err := c.enter("Alloc"); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if size <= 0 {
		return 0, failed("Alloc", driver.CodeInvalidValue, fmt.Sprintf("%d bytes", size))
	}
	if int64(size) > c.info.Memory-c.used {
		return 0, failed("Alloc", driver.CodeOutOfMemory, fmt.Sprintf("%d bytes of %d that are free", size, c.info.Memory-c.used))
	}
	b := &block{start: c.next, size: size, mem: aligned(size + guardBytes)}
	fill(b.mem[:size], undefined)
	fill(b.mem[size:], guardValue)
	c.next += driver.Ptr((size + 2*alignment + guardBytes) / alignment * alignment)
	c.used += int64(size)
	c.blocks[b.start] = b
	c.starts = append(c.starts, b.start)
	return b.start, nil
}

// aligned returns n bytes that start at a multiple of the alignment, as vector loads need.
func aligned(n int) []byte {
	b := make([]byte, n+alignment)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (alignment - 1))
	return b[off : off+n : off+n]
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// Free frees memory. p must be an address that Alloc returned.
func (c *Context) Free(p driver.Ptr) error {
	if err := c.enter("Free"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.blocks[p]
	if b == nil {
		return failed("Free", driver.CodeInvalidValue, fmt.Sprintf("%#x is no allocation", p))
	}
	delete(c.blocks, p)
	c.starts = slices.DeleteFunc(c.starts, func(s driver.Ptr) bool { return s == p })
	c.used -= int64(b.size)
	return b.guard()
}

// guard fails if something wrote beyond the block.
func (b *block) guard() error {
	for i, v := range b.mem[b.size:] {
		if v != guardValue {
			return failed("guard", driver.CodeIllegalAddress, fmt.Sprintf("byte %d of an allocation of %d was written", b.size+i, b.size))
		}
	}
	return nil
}

// Info returns the free and total memory.
func (c *Context) Info() (free, total int64, err error) {
	if err := c.enter("Info"); err != nil {
		return 0, 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info.Memory - c.used, c.info.Memory, nil
}

// window returns n bytes at p. n < 0 means to the end of the allocation.
func (c *Context) window(p driver.Ptr, n int) ([]byte, *block, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.find(p)
	if b == nil {
		return nil, nil, false
	}
	off := int(p - b.start)
	if n < 0 {
		n = b.size - off
	}
	if n > b.size-off {
		return nil, nil, false
	}
	return b.mem[off : off+n : off+n], b, true
}

// pinned is memory of AllocHost.
type pinned struct {
	c   *Context
	mem []byte
}

// AllocHost returns memory that streams may copy from and to.
func (c *Context) AllocHost(size int) (driver.Pinned, error) {
	if err := c.enter("AllocHost"); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, failed("AllocHost", driver.CodeInvalidValue, fmt.Sprintf("%d bytes", size))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &pinned{c, bytes.Repeat([]byte{undefined}, size)}
	c.pinned[p] = true
	return p, nil
}

// Bytes returns the memory.
func (p *pinned) Bytes() []byte { return p.mem }

// Free frees the memory.
func (p *pinned) Free() error {
	if err := p.c.enter("FreeHost"); err != nil {
		return err
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if !p.c.pinned[p] {
		return failed("FreeHost", driver.CodeInvalidValue, "freed before")
	}
	delete(p.c.pinned, p)
	return nil
}

// isPinned reports whether b lies within memory of AllocHost.
func (c *Context) isPinned(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for p := range c.pinned {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(p.mem)))
		if at >= start && at+uintptr(len(b)) <= start+uintptr(len(p.mem)) {
			return true
		}
	}
	return false
}
