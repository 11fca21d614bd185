//go:build cu

package gorgoniacu

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

type stream struct {
	c         *context
	s         cu.Stream
	capturing atomic.Bool
}

// NewStream makes a stream.
func (c *context) NewStream() (driver.Stream, error) {
	s := &stream{c: c}
	err := c.do("cuStreamCreate", func() (err error) { s.s, err = cu.MakeStream(cu.NonBlocking); return err })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// copies does a copy from or to pinned memory.
func (s *stream) copies(call string, host []byte, f func(p unsafe.Pointer, n int64) error) error {
	if len(host) == 0 {
		return nil
	}
	if !s.c.isPinned(host) {
		return fmt.Errorf("%s of %d bytes: %w: use AllocHost's", call, len(host), driver.ErrPinned)
	}
	return s.c.do(call, func() error { return f(unsafe.Pointer(unsafe.SliceData(host)), int64(len(host))) })
}

// Upload copies from pinned memory.
func (s *stream) Upload(dst driver.Ptr, src []byte) error {
	return s.copies("cuMemcpyHtoDAsync", src, func(p unsafe.Pointer, n int64) error { return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), p, n, s.s) })
}

// Download copies to pinned memory.
func (s *stream) Download(dst []byte, src driver.Ptr) error {
	return s.copies("cuMemcpyDtoHAsync", dst, func(p unsafe.Pointer, n int64) error { return cu.MemcpyDtoHAsync(p, cu.DevicePtr(src), n, s.s) })
}

// Copy copies within the GPU.
func (s *stream) Copy(dst, src driver.Ptr, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.c.do("cuMemcpyDtoDAsync", func() error { return cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(bytes), s.s) })
}

// Fill sets bytes.
func (s *stream) Fill(dst driver.Ptr, value byte, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.c.do("cuMemsetD8Async", func() error { return cu.MemsetD8Async(cu.DevicePtr(dst), value, int64(bytes), s.s) })
}

// Launch issues a kernel.
func (s *stream) Launch(f driver.Function, l driver.Launch) error {
	fn, ok := f.(*function)
	if !ok || fn.c != s.c {
		return fmt.Errorf("launch: the function is of another context: %w", driver.ErrInvalid)
	}
	if err := l.Check(); err != nil {
		return err
	}
	params := make([]unsafe.Pointer, len(l.Args)) // to cells of 8 bytes, which are read whole
	for i := range l.Args {
		params[i] = unsafe.Pointer(&l.Args[i])
	}
	g, b := l.Grid, l.Block
	return s.c.do("cuLaunchKernel", func() error {
		return fn.f.Launch(max(g.X, 1), max(g.Y, 1), max(g.Z, 1), max(b.X, 1), max(b.Y, 1), max(b.Z, 1), l.Shared, s.s, params)
	})
}

func (s *stream) event(call string, v driver.Event) (*event, error) {
	e, ok := v.(*event)
	if !ok || e.c != s.c {
		return nil, fmt.Errorf("%s: the event is of another context: %w", call, driver.ErrInvalid)
	}
	if s.capturing.Load() {
		return nil, fmt.Errorf("%s: %w", call, driver.ErrCapture)
	}
	return e, nil
}

// Record records an event.
func (s *stream) Record(v driver.Event) error {
	e, err := s.event("record", v)
	if err != nil {
		return err
	}
	return s.c.do("cuEventRecord", func() error { return e.e.Record(s.s) })
}

// Wait waits for an event on the GPU.
func (s *stream) Wait(v driver.Event) error {
	e, err := s.event("wait", v)
	if err != nil {
		return err
	}
	return s.c.do("cuStreamWaitEvent", func() error { return s.s.Wait(e.e, 0) })
}

// Capture makes a graph.
func (s *stream) Capture(record func() error) (driver.Graph, error) {
	if !s.capturing.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("capture: %w", driver.ErrCapture)
	}
	defer s.capturing.Store(false)
	if err := s.c.do("cuStreamBeginCapture", func() error { return beginCapture(s.s) }); err != nil {
		return nil, err
	}
	recorded := record()
	g := &graph{c: s.c}
	ended := s.c.do("cuStreamEndCapture", func() (err error) { g.x, err = endCapture(s.s, recorded != nil); return err })
	if err := errors.Join(recorded, ended); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return g, nil
}

// Synchronize waits for the work.
func (s *stream) Synchronize() error { return s.c.do("cuStreamSynchronize", s.s.Synchronize) }

// Close waits for the work and ends the stream.
func (s *stream) Close() error {
	return errors.Join(s.Synchronize(), s.c.do("cuStreamDestroy", s.s.Destroy))
}

type graph struct {
	c *context
	x exec
}

// Launch issues the graph.
func (g *graph) Launch(v driver.Stream) error {
	s, ok := v.(*stream)
	if !ok || s.c != g.c {
		return fmt.Errorf("launch a graph: the stream is of another context: %w", driver.ErrInvalid)
	}
	return g.c.do("cuGraphLaunch", func() error { return launchGraph(g.x, s.s) })
}

// Close destroys the graph.
func (g *graph) Close() error {
	return g.c.do("cuGraphExecDestroy", func() error { return closeGraph(g.x) })
}
