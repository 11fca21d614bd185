package cuda

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// hostBuffer is page-locked memory that a Device allocated.
type hostBuffer struct {
	d *Device
	p driver.Pinned
}

// AllocHost returns zeroed page-locked memory. Copies from and to it need no staging.
func (d *Device) AllocHost(bytes int) (device.HostBuffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocate page-locked memory: expected a size >= 0, got %d bytes", bytes)
	}
	if err := d.alive(); err != nil {
		return nil, err
	}
	p, err := d.context.AllocHost(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes of page-locked memory: %w", bytes, d.check(err))
	}
	clear(p.Bytes())
	b := &hostBuffer{d, p}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned[b] = true
	d.hosts.add(p.Bytes())
	return b, nil
}

// Bytes returns the memory.
func (b *hostBuffer) Bytes() []byte { return b.p.Bytes() }

// Free frees the memory.
func (b *hostBuffer) Free() error {
	b.d.mu.Lock()
	ok := b.d.pinned[b]
	delete(b.d.pinned, b)
	lost := b.d.lost != nil
	b.d.mu.Unlock()
	if !ok {
		return fmt.Errorf("free page-locked memory: freed before: %w", device.ErrBuffer)
	}
	b.d.hosts.remove(b.p.Bytes())
	if lost {
		return nil // freed with the context
	}
	return b.d.check(b.p.Free())
}

// ranges are parts of the process's memory.
type ranges struct {
	mu  sync.RWMutex
	all []span // sorted
}

type span struct{ from, to uintptr }

func spanOf(b []byte) span {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return span{from, from + uintptr(len(b))}
}

func (r *ranges) search(at uintptr) (int, bool) {
	return slices.BinarySearchFunc(r.all, at, func(s span, at uintptr) int {
		switch {
		case s.from < at:
			return -1
		case s.from > at:
			return 1
		}
		return 0
	})
}

func (r *ranges) add(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := spanOf(b)
	i, _ := r.search(s.from)
	r.all = slices.Insert(r.all, i, s)
}

func (r *ranges) remove(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.search(spanOf(b).from); ok {
		r.all = slices.Delete(r.all, i, i+1)
	}
}

// hold reports whether b lies within one of the ranges.
func (r *ranges) hold(b []byte) bool {
	s := spanOf(b)
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, exact := r.search(s.from)
	if !exact {
		i--
	}
	return i >= 0 && s.to <= r.all[i].to
}
