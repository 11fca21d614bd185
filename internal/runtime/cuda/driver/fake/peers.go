package fake

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

var (
	_ driver.PeerContext = (*Context)(nil)
	_ driver.PeerStream  = (*Stream)(nil)
)

// Reach finds a path between any two GPUs of one driver.
func (c *Context) Reach(peer driver.Context) (bool, error) {
	if err := c.enter("Reach"); err != nil {
		return false, err
	}
	_, err := c.peer("Reach", peer)
	return err == nil, err
}

// peer checks that a context is another one of the same driver.
func (c *Context) peer(call string, v driver.Context) (*Context, error) {
	p, ok := v.(*Context)
	if !ok || p.d != c.d || p == c {
		return nil, failed(call, driver.CodeInvalidContext, "expected another context of the same driver")
	}
	return p, nil
}

// CopyPeer copies from another context.
func (s *Stream) CopyPeer(dst driver.Ptr, from driver.Context, src driver.Ptr, bytes int) error {
	const call = "CopyPeer"
	if err := s.c.enter(call); err != nil {
		return err
	}
	p, err := s.c.peer(call, from)
	if err != nil || bytes == 0 {
		return err
	}
	windows := func() (to, of []byte, ok bool) {
		to, _, ok = s.c.window(dst, bytes)
		if ok {
			of, _, ok = p.window(src, bytes)
		}
		return to, of, ok && bytes > 0
	}
	if _, _, ok := windows(); !ok {
		return failed(call, driver.CodeInvalidValue, fmt.Sprintf("%d bytes at %#x and %#x are not of one allocation each", bytes, dst, src))
	}
	return s.issue(call, s.useful(func() error {
		to, of, ok := windows()
		if !ok {
			return failed(call, driver.CodeIllegalAddress, "memory was freed while the copy was in the stream")
		}
		copy(to, of)
		return nil
	}))
}

// WaitPeer makes later work wait for an event of any context of the driver.
func (s *Stream) WaitPeer(v driver.Event) error {
	const call = "WaitPeer"
	if err := s.c.enter(call); err != nil {
		return err
	}
	e, ok := v.(*event)
	if !ok || e.c.d != s.c.d {
		return failed(call, driver.CodeInvalidHandle, "the event is of another driver")
	}
	m, err := e.current()
	if err != nil || m == nil {
		return err
	}
	s.mu.Lock()
	capturing := s.capturing
	s.mu.Unlock()
	if capturing {
		return failed(call, driver.CodeCaptureUnsafe, "a graph is being captured")
	}
	return s.issue(call, func() error { <-m.done; return nil })
}
