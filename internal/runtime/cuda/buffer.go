package cuda

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// buffer is memory of a GPU.
type buffer struct {
	d *Device
	p driver.Ptr
	n int
}

// Alloc returns zeroed memory of the GPU, aligned to 256 bytes. Its error is a device.ErrMemory if there is not enough.
func (d *Device) Alloc(bytes int) (device.Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocate on %s: expected a size >= 0, got %d bytes", d.name, bytes)
	}
	if err := d.alive(); err != nil {
		return nil, err
	}
	if bytes > math.MaxInt/2 {
		return nil, fmt.Errorf("allocate %d bytes on %s: %w", bytes, d.name, device.ErrMemory)
	}
	p, err := d.context.Alloc(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes on %s, %d in use by this process: %w", bytes, d.name, d.Used(), d.check(err))
	}
	if err := d.zero(p, bytes); err != nil {
		return nil, fmt.Errorf("clear %d bytes on %s: %w", bytes, d.name, errors.Join(d.check(err), d.context.Free(p)))
	}
	b := &buffer{d, p, bytes}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffers[b] = true
	d.used += int64(bytes)
	return b, nil
}

func (d *Device) zero(p driver.Ptr, bytes int) error {
	d.zeroing.Lock()
	defer d.zeroing.Unlock()
	if err := d.zeroing.s.Fill(p, 0, bytes); err != nil {
		return err
	}
	return d.zeroing.s.Synchronize()
}

// Len returns the size in bytes.
func (b *buffer) Len() int { return b.n }

// Address returns the buffer's address.
func (b *buffer) Address() driver.Ptr { return b.p }

// Free frees the memory.
func (b *buffer) Free() error {
	b.d.mu.Lock()
	ok := b.d.buffers[b]
	if delete(b.d.buffers, b); ok {
		b.d.used -= int64(b.n)
	}
	lost := b.d.lost != nil
	b.d.mu.Unlock()
	if !ok {
		return fmt.Errorf("free on %s: freed before: %w", b.d.name, device.ErrBuffer)
	}
	if lost {
		return nil // gone with the context
	}
	return b.d.check(b.d.context.Free(b.p))
}

// window returns the address of n bytes of a buffer of this device.
func (d *Device) window(b device.Buffer, offset, n int) (driver.Ptr, error) {
	g, ok := b.(*buffer)
	if !ok || g.d != d {
		return 0, fmt.Errorf("%T on %s: %w", b, d.name, device.ErrBuffer)
	}
	d.mu.Lock()
	ok = d.buffers[g]
	d.mu.Unlock()
	switch {
	case !ok:
		return 0, fmt.Errorf("a buffer that was freed: %w", device.ErrBuffer)
	case offset < 0 || n < 0 || offset > g.n-n:
		return 0, fmt.Errorf("%d bytes at %d of %d: %w", n, offset, g.n, device.ErrRange)
	}
	return g.p + driver.Ptr(offset), nil
}
