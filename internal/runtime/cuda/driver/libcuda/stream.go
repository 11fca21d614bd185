package libcuda

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const (
	nonBlocking    = 1 // CU_STREAM_NON_BLOCKING: does not wait for the legacy stream
	captureRelaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: goroutines change threads while they capture
)

type stream struct {
	c         *context
	handle    uintptr
	capturing atomic.Bool
}

// NewStream makes a stream.
func (c *context) NewStream() (driver.Stream, error) {
	h := new(uintptr)
	if err := c.do("cuStreamCreate", c.streamCreate, uintptr(unsafe.Pointer(h)), nonBlocking); err != nil {
		return nil, err
	}
	return &stream{c: c, handle: *h}, nil
}

func (s *stream) checkPinned(call string, host []byte) error {
	if s.c.isPinned(host) {
		return nil
	}
	return fmt.Errorf("%s of %d bytes: %w: use AllocHost's", call, len(host), driver.ErrPinned)
}

// Upload copies from pinned memory.
func (s *stream) Upload(dst driver.Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	if err := s.checkPinned("upload", src); err != nil {
		return err
	}
	return s.c.do("cuMemcpyHtoDAsync", s.c.copyUp, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), s.handle)
}

// Download copies to pinned memory.
func (s *stream) Download(dst []byte, src driver.Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	if err := s.checkPinned("download", dst); err != nil {
		return err
	}
	return s.c.do("cuMemcpyDtoHAsync", s.c.copyDown, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), s.handle)
}

// Copy copies within the GPU.
func (s *stream) Copy(dst, src driver.Ptr, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.c.do("cuMemcpyDtoDAsync", s.c.copyWithin, uintptr(dst), uintptr(src), uintptr(bytes), s.handle)
}

// Fill sets bytes.
func (s *stream) Fill(dst driver.Ptr, value byte, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.c.do("cuMemsetD8Async", s.c.memset, uintptr(dst), uintptr(value), uintptr(bytes), s.handle)
}

// Launch issues a kernel.
func (s *stream) Launch(f driver.Function, l driver.Launch) error {
	fn, ok := f.(*function)
	if !ok || fn.c != s.c {
		return fmt.Errorf("launch: the function is of another context: %w", driver.ErrInvalid)
	}
	if err := l.Check(); err != nil {
		return fmt.Errorf("%s: %w", fn.name, err)
	}
	var params [driver.MaxArgs]unsafe.Pointer // the driver copies the arguments before it returns
	args := l.Args
	for i := range args {
		params[i] = unsafe.Pointer(&args[i])
	}
	g, b := l.Grid, l.Block
	err := s.c.do("cuLaunchKernel", s.c.launch, fn.handle, size(g.X), size(g.Y), size(g.Z), size(b.X), size(b.Y), size(b.Z),
		uintptr(l.Shared), s.handle, uintptr(unsafe.Pointer(&params)), 0)
	if err != nil {
		return fmt.Errorf("%s: %w", fn.name, err)
	}
	return nil
}

func size(n int) uintptr { return uintptr(max(n, 1)) }

// Record records an event.
func (s *stream) Record(v driver.Event) error {
	e, err := s.event("record", v)
	if err != nil {
		return err
	}
	return s.c.do("cuEventRecord", s.c.eventRecord, e.handle, s.handle)
}

// Wait waits for an event on the GPU.
func (s *stream) Wait(v driver.Event) error {
	e, err := s.event("wait", v)
	if err != nil {
		return err
	}
	return s.c.do("cuStreamWaitEvent", s.c.streamWait, s.handle, e.handle, 0)
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

// Capture makes a graph.
func (s *stream) Capture(record func() error) (driver.Graph, error) {
	if !s.capturing.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("capture: %w", driver.ErrCapture)
	}
	defer s.capturing.Store(false)
	c := s.c
	if err := c.do("cuStreamBeginCapture", c.beginCapture, s.handle, captureRelaxed); err != nil {
		return nil, err
	}
	recorded := record()
	captured := new(uintptr)
	err := errors.Join(recorded, c.do("cuStreamEndCapture", c.endCapture, s.handle, uintptr(unsafe.Pointer(captured))))
	if *captured != 0 {
		defer func() { _ = c.do("cuGraphDestroy", c.graphDestroy, *captured) }()
	}
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	exec := new(uintptr)
	if err := c.do("cuGraphInstantiate", c.graphInstantiate, uintptr(unsafe.Pointer(exec)), *captured, 0); err != nil {
		return nil, err
	}
	return &graph{c, *exec}, nil
}

// Synchronize waits for the work.
func (s *stream) Synchronize() error {
	return s.c.do("cuStreamSynchronize", s.c.streamSync, s.handle)
}

// Close waits for the work and ends the stream.
func (s *stream) Close() error {
	return errors.Join(s.Synchronize(), s.c.do("cuStreamDestroy", s.c.streamDestroy, s.handle))
}

// graph is a CUgraphExec.
type graph struct {
	c      *context
	handle uintptr
}

// Launch issues the graph.
func (g *graph) Launch(v driver.Stream) error {
	s, ok := v.(*stream)
	if !ok || s.c != g.c {
		return fmt.Errorf("launch a graph: the stream is of another context: %w", driver.ErrInvalid)
	}
	return g.c.do("cuGraphLaunch", g.c.graphLaunch, g.handle, s.handle)
}

// Close destroys the graph.
func (g *graph) Close() error {
	return g.c.do("cuGraphExecDestroy", g.c.graphExecDestroy, g.handle)
}
