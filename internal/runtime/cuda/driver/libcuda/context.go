package libcuda

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// portable pins memory for all contexts (CU_MEMHOSTALLOC_PORTABLE).
const portable = 1

type context struct {
	*cuda
	device, handle uintptr

	mu     sync.RWMutex
	pinned []hostRange // sorted
	closed bool
}

// hostRange is pinned memory.
type hostRange struct {
	from uintptr
	n    int
}

// do calls a function with the context current.
//
//go:uintptrescapes
func (c *context) do(call string, p dylib.Proc, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.check("cuCtxSetCurrent", c.ctxSetCurrent.Call(c.handle)); err != nil {
		return err
	}
	return c.check(call, p.Call(args...))
}

// Alloc allocates memory of the GPU.
func (c *context) Alloc(bytes int) (driver.Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("allocate on the GPU: expected a size > 0, got %d bytes: %w", bytes, driver.ErrInvalid)
	}
	p := new(uint64)
	if err := c.do("cuMemAlloc", c.memAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes)); err != nil {
		return 0, fmt.Errorf("allocate %d bytes on the GPU: %w", bytes, err)
	}
	return driver.Ptr(*p), nil
}

// Free frees memory of the GPU.
func (c *context) Free(p driver.Ptr) error { return c.do("cuMemFree", c.memFree, uintptr(p)) }

// Info returns the free and total memory.
func (c *context) Info() (free, total int64, err error) {
	f, t := new(uint64), new(uint64)
	err = c.do("cuMemGetInfo", c.memInfo, uintptr(unsafe.Pointer(f)), uintptr(unsafe.Pointer(t)))
	return int64(*f), int64(*t), err
}

// AllocHost allocates page-locked memory.
func (c *context) AllocHost(bytes int) (driver.Pinned, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("allocate pinned memory: expected a size > 0, got %d bytes: %w", bytes, driver.ErrInvalid)
	}
	p := new(unsafe.Pointer)
	if err := c.do("cuMemHostAlloc", c.hostAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes), portable); err != nil {
		return nil, fmt.Errorf("allocate %d bytes of pinned memory: %w", bytes, err)
	}
	mem := unsafe.Slice((*byte)(*p), bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := c.search(uintptr(*p))
	c.pinned = slices.Insert(c.pinned, at, hostRange{uintptr(*p), bytes})
	return &pinned{c: c, mem: mem}, nil
}

// search finds the index of the range that starts at p, or the index where it would be.
func (c *context) search(p uintptr) (int, bool) {
	return slices.BinarySearchFunc(c.pinned, p, func(r hostRange, p uintptr) int {
		switch {
		case r.from < p:
			return -1
		case r.from > p:
			return 1
		}
		return 0
	})
}

// isPinned reports whether b lies within pinned memory.
func (c *context) isPinned(b []byte) bool {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	c.mu.RLock()
	defer c.mu.RUnlock()
	i, exact := c.search(p)
	if !exact {
		i--
	}
	return i >= 0 && p+uintptr(len(b)) <= c.pinned[i].from+uintptr(c.pinned[i].n)
}

type pinned struct {
	c   *context
	mem []byte
}

// Bytes returns the memory.
func (p *pinned) Bytes() []byte { return p.mem }

// Free frees the memory.
func (p *pinned) Free() error {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(p.mem)))
	p.c.mu.Lock()
	i, ok := p.c.search(from)
	if ok && p.mem != nil {
		p.c.pinned = slices.Delete(p.c.pinned, i, i+1)
	}
	p.c.mu.Unlock()
	if !ok || p.mem == nil {
		return fmt.Errorf("free pinned memory: freed before: %w", driver.ErrInvalid)
	}
	p.mem = nil
	return p.c.do("cuMemFreeHost", p.c.hostFree, from)
}

// Close releases the context. When the process's last use of it ends, the driver frees what is left in it.
func (c *context) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("close the GPU's context: closed before: %w", driver.ErrInvalid)
	}
	c.closed = true
	return c.check("cuDevicePrimaryCtxRelease", c.primaryRelease.Call(c.device))
}
