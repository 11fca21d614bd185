package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// Kind is what Device.Kind returns.
const Kind = "cuda"

var (
	_ engine.Accelerator   = (*Device)(nil)
	_ device.HostAllocator = (*Device)(nil)
)

// Device is one GPU. It is safe for concurrent use.
type Device struct {
	name    string
	context driver.Context
	library *kernels.Library
	parts   Parts
	using   Libraries
	closers []func() error // close the parts that the device opened
	zeroing zeroing

	mu       sync.Mutex
	lost     error // why the GPU cannot be used any more
	closed   bool
	used     int64 // bytes of buffers
	buffers  map[*buffer]bool
	pinned   map[*hostBuffer]bool
	streams  map[*Stream]bool
	programs map[*code]bool

	hosts ranges // of pinned
}

// zeroing is the stream that clears new buffers.
type zeroing struct {
	sync.Mutex
	s driver.Stream
}

// Parts are the components of a Device.
type Parts struct {
	Name     string // for messages: "GPU 0 (NVIDIA H200)"
	Compiler nvrtc.Compiler
	Arch     nvrtc.Arch
	Products lower.Products     // nil for own kernels
	Convs    lower.Convolutions // nil for own kernels
}

// New makes a device from a context and compiles and loads the kernels that every program can use. Device.Close closes the
// context. If New fails, it leaves the context open.
func New(ctx context.Context, c driver.Context, p Parts) (*Device, error) {
	d := &Device{name: p.Name, context: c, parts: p, buffers: map[*buffer]bool{}, pinned: map[*hostBuffer]bool{}, streams: map[*Stream]bool{}, programs: map[*code]bool{}}
	var err error
	if d.library, err = kernels.Load(ctx, kernels.Target{Context: c, Compiler: p.Compiler, Arch: p.Arch}, kernels.Modules()...); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if d.zeroing.s, err = c.NewStream(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.Name, err), d.library.Close())
	}
	return d, nil
}

// Kind returns Kind.
func (d *Device) Kind() string { return Kind }

// Context returns the driver's context, for CUDA's libraries.
func (d *Device) Context() driver.Context { return d.context }

// Used returns the bytes of all buffers.
func (d *Device) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// NewStream returns an idle stream. Besides device.Stream's methods it has a Close; Device.Close closes the remaining streams.
func (d *Device) NewStream() (device.Stream, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	s, err := d.context.NewStream()
	if err != nil {
		return nil, fmt.Errorf("make a stream on %s: %w", d.name, d.check(err))
	}
	n := &Stream{d: d, s: s, ring: ring{d: d}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[n] = true
	return n, nil
}

// Close frees everything. On a lost GPU nothing can be freed, which is not an error.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, s := range left(d, d.streams) {
		errs = append(errs, s.Close())
	}
	for _, c := range left(d, d.programs) {
		errs = append(errs, c.Close())
	}
	for _, b := range left(d, d.buffers) {
		errs = append(errs, b.Free())
	}
	for _, h := range left(d, d.pinned) {
		errs = append(errs, h.Free())
	}
	for _, c := range d.closers {
		errs = append(errs, c())
	}
	errs = append(errs, d.zeroing.s.Close(), d.library.Close(), d.context.Close())
	if d.alive() != nil {
		return nil
	}
	return errors.Join(errs...)
}

// left lists the objects in a set of the device's open ones.
func left[T comparable](d *Device, of map[T]bool) []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(of))
}
