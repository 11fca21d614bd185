package device

import (
	"errors"
	"fmt"
	"sync"
)

// NewFake returns the host's twin with an address space of its own. Its memory faults when touched outside of a
// stream's work (on systems that can protect memory), and its streams defer all work until they are waited for.
func NewFake() Device { return &fakeDevice{buffers: map[*fakeBuffer]struct{}{}} }

// fakeDevice protects all its buffers together: they are open while any of its streams works.
type fakeDevice struct {
	streams sync.Mutex // one works at a time
	mu      sync.Mutex // guards the fields below
	buffers map[*fakeBuffer]struct{}
	working int
}

func (d *fakeDevice) Kind() string { return KindFake }

func (d *fakeDevice) Alloc(bytes int) (Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocate on the fake device: expected a size >= 0, got %d bytes", bytes)
	}
	pages, err := mapPages(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes on the fake device: %w", bytes, err)
	}
	b := &fakeBuffer{dev: d, pages: pages, mem: pages[:bytes:bytes]}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffers[b] = struct{}{}
	if d.working > 0 {
		return b, nil
	}
	return b, protectPages(pages, false)
}

func (d *fakeDevice) NewStream() (Stream, error) { return &fakeStream{dev: d}, nil }

func (d *fakeDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for b := range d.buffers {
		errs = append(errs, unmapPages(b.pages))
		delete(d.buffers, b)
	}
	return errors.Join(errs...)
}

// open makes the memory reachable, and close unreachable again; calls nest.
func (d *fakeDevice) open() error  { return d.shift(+1) }
func (d *fakeDevice) close() error { return d.shift(-1) }

func (d *fakeDevice) shift(by int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.working > 0
	d.working += by
	is := d.working > 0
	if was == is {
		return nil
	}
	for b := range d.buffers {
		if err := protectPages(b.pages, is); err != nil {
			return fmt.Errorf("protect the fake device's memory: %w", err)
		}
	}
	return nil
}

type fakeBuffer struct {
	dev   *fakeDevice
	pages []byte
	mem   []byte
}

func (b *fakeBuffer) Len() int    { return len(b.mem) }
func (b *fakeBuffer) Map() []byte { return b.mem }

func (b *fakeBuffer) Free() error {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if _, ok := b.dev.buffers[b]; !ok {
		return fmt.Errorf("free: %w", ErrBuffer)
	}
	delete(b.dev.buffers, b)
	return unmapPages(b.pages)
}
