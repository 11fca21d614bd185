package libcuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const codePeerEnabled driver.Code = 704 // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

var (
	_ driver.PeerContext = (*context)(nil)
	_ driver.PeerStream  = (*stream)(nil)
)

// Reach opens a path if there is one.
func (c *context) Reach(peer driver.Context) (bool, error) {
	p, err := c.peer("reach another GPU", peer)
	if err != nil {
		return false, err
	}
	can := new(int32)
	if err := c.do("cuDeviceCanAccessPeer", c.canAccessPeer, uintptr(unsafe.Pointer(can)), c.device, p.device); err != nil || *can == 0 {
		return false, err
	}
	err = c.do("cuCtxEnablePeerAccess", c.enablePeer, p.handle, 0)
	var said *driver.Error
	if errors.As(err, &said) && said.Code == codePeerEnabled {
		return true, nil
	}
	return err == nil, err
}

// peer checks that a context is this driver's, for another GPU.
func (c *context) peer(what string, v driver.Context) (*context, error) {
	p, ok := v.(*context)
	if !ok || p.cuda != c.cuda || p == c {
		return nil, fmt.Errorf("%s: expected another context of the same driver: %w", what, driver.ErrInvalid)
	}
	return p, nil
}

// CopyPeer copies from another GPU.
func (s *stream) CopyPeer(dst driver.Ptr, from driver.Context, src driver.Ptr, bytes int) error {
	p, err := s.c.peer("copy from another GPU", from)
	if err != nil || bytes == 0 {
		return err
	}
	return s.c.do("cuMemcpyPeerAsync", s.c.copyPeer, uintptr(dst), s.c.handle, uintptr(src), p.handle, uintptr(bytes), s.handle)
}

// WaitPeer waits for an event of any context on the GPU.
func (s *stream) WaitPeer(v driver.Event) error {
	e, ok := v.(*event)
	if !ok || e.c.cuda != s.c.cuda {
		return fmt.Errorf("wait: the event is of another driver: %w", driver.ErrInvalid)
	}
	if s.capturing.Load() {
		return fmt.Errorf("wait: %w", driver.ErrCapture)
	}
	return s.c.do("cuStreamWaitEvent", s.c.streamWait, s.handle, e.handle, 0)
}
