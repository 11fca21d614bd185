//go:build cu

package gorgoniacu

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

type context struct {
	device cu.Device
	handle cu.CUContext

	mu     sync.Mutex
	pinned map[*pinned]bool
}

// do calls f with the context current.
func (c *context) do(call string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(c.handle); err != nil {
		return wrap("cuCtxSetCurrent", err)
	}
	return wrapUnlessDriver(call, f())
}

// wrapUnlessDriver wraps an error unless it is already a driver.Error.
func wrapUnlessDriver(call string, err error) error {
	var e *driver.Error
	if errors.As(err, &e) {
		return err
	}
	return wrap(call, err)
}

// Alloc allocates memory of the GPU.
func (c *context) Alloc(bytes int) (driver.Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("allocate on the GPU: expected a size > 0, got %d bytes: %w", bytes, driver.ErrInvalid)
	}
	var p cu.DevicePtr
	err := c.do("cuMemAlloc", func() (err error) { p, err = cu.MemAlloc(int64(bytes)); return err })
	return driver.Ptr(p), err
}

// Free frees memory of the GPU.
func (c *context) Free(p driver.Ptr) error {
	return c.do("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(p)) })
}

// Info returns the free and total memory.
func (c *context) Info() (free, total int64, err error) {
	err = c.do("cuMemGetInfo", func() (err error) { free, total, err = cu.MemInfo(); return err })
	return free, total, err
}

type pinned struct {
	c   *context
	mem []byte
}

// AllocHost allocates page-locked memory.
func (c *context) AllocHost(bytes int) (driver.Pinned, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("allocate pinned memory: expected a size > 0, got %d bytes: %w", bytes, driver.ErrInvalid)
	}
	var p unsafe.Pointer
	if err := c.do("cuMemHostAlloc", func() (err error) { p, err = hostAlloc(bytes); return err }); err != nil {
		return nil, err
	}
	m := &pinned{c, unsafe.Slice((*byte)(p), bytes)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pinned[m] = true
	return m, nil
}

// Bytes returns the memory.
func (p *pinned) Bytes() []byte { return p.mem }

// Free frees the memory.
func (p *pinned) Free() error {
	p.c.mu.Lock()
	known := p.c.pinned[p]
	delete(p.c.pinned, p)
	p.c.mu.Unlock()
	if !known {
		return fmt.Errorf("free pinned memory: freed before: %w", driver.ErrInvalid)
	}
	return p.c.do("cuMemFreeHost", func() error { return cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(p.mem))) })
}

// isPinned reports whether b lies within pinned memory.
func (c *context) isPinned(b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.pinned {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(p.mem)))
		if at >= from && at+uintptr(len(b)) <= from+uintptr(len(p.mem)) {
			return true
		}
	}
	return false
}

// Close releases the context.
func (c *context) Close() error {
	return wrap("cuDevicePrimaryCtxRelease", c.device.ReleasePrimaryCtx())
}

type event struct {
	c      *context
	e      cu.Event
	timing bool
}

// NewEvent makes an event.
func (c *context) NewEvent(timing bool) (driver.Event, error) {
	flags := cu.DisableTiming
	if timing {
		flags = cu.DefaultEvent
	}
	v := &event{c: c, timing: timing}
	err := c.do("cuEventCreate", func() (err error) { v.e, err = cu.MakeEvent(flags); return err })
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Synchronize waits for the event.
func (v *event) Synchronize() error { return v.c.do("cuEventSynchronize", v.e.Synchronize) }

// Since returns the time between two events.
func (v *event) Since(earlier driver.Event) (d time.Duration, err error) {
	f, ok := earlier.(*event)
	if !ok || f.c != v.c || !v.timing || !f.timing {
		return 0, fmt.Errorf("time between events: expected two with timing of one context: %w", driver.ErrInvalid)
	}
	err = v.c.do("cuEventElapsedTime", func() error {
		ms, err := f.e.Elapsed(v.e)
		d = time.Duration(ms * float64(time.Millisecond))
		return err
	})
	return d, err
}

// Close destroys the event.
func (v *event) Close() error {
	return v.c.do("cuEventDestroy", func() error { return cu.DestroyEvent(&v.e) })
}

type module struct {
	c *context
	m cu.Module
}

// Load translates PTX.
func (c *context) Load(image []byte) (driver.Module, error) {
	m := &module{c: c}
	err := c.do("cuModuleLoadData", func() (err error) { m.m, err = cu.LoadData(string(image)); return err })
	if err != nil {
		return nil, err
	}
	return m, nil
}

type function struct {
	c *context
	f cu.Function
}

// Function looks a kernel up.
func (m *module) Function(name string) (driver.Function, error) {
	f := &function{c: m.c}
	err := m.c.do("cuModuleGetFunction", func() (err error) { f.f, err = m.m.Function(name); return err })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Close unloads the module.
func (m *module) Close() error { return m.c.do("cuModuleUnload", m.m.Unload) }

// AllowShared raises the limit of dynamic shared memory.
func (f *function) AllowShared(bytes int) error {
	return f.c.do("cuFuncSetAttribute", func() error { return allowShared(f.f, bytes) })
}
