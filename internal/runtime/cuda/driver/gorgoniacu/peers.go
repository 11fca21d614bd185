//go:build cu

package gorgoniacu

/*
#include <cuda.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

var (
	_ driver.PeerContext = (*context)(nil)
	_ driver.PeerStream  = (*stream)(nil)
)

// peer checks that a context is this driver's, for another GPU.
func (c *context) peer(what string, v driver.Context) (*context, error) {
	p, ok := v.(*context)
	if !ok || p == c {
		return nil, fmt.Errorf("%s: expected another context of the same driver: %w", what, driver.ErrInvalid)
	}
	return p, nil
}

// contextOf is the C handle: cu.CUContext is a struct of one C pointer.
func contextOf(c cu.CUContext) C.CUcontext { return *(*C.CUcontext)(unsafe.Pointer(&c)) }

// Reach opens a path if there is one.
func (c *context) Reach(peer driver.Context) (bool, error) {
	p, err := c.peer("reach another GPU", peer)
	if err != nil {
		return false, err
	}
	var can C.int
	err = c.do("cuDeviceCanAccessPeer", func() error {
		return check("cuDeviceCanAccessPeer", C.cuDeviceCanAccessPeer(&can, C.CUdevice(c.device), C.CUdevice(p.device)))
	})
	if err != nil || can == 0 {
		return false, err
	}
	err = c.do("cuCtxEnablePeerAccess", func() error {
		return check("cuCtxEnablePeerAccess", C.cuCtxEnablePeerAccess(contextOf(p.handle), 0))
	})
	var said *driver.Error
	if errors.As(err, &said) && said.Code == C.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
		return true, nil
	}
	return err == nil, err
}

// CopyPeer copies from another GPU.
func (s *stream) CopyPeer(dst driver.Ptr, from driver.Context, src driver.Ptr, bytes int) error {
	p, err := s.c.peer("copy from another GPU", from)
	if err != nil || bytes == 0 {
		return err
	}
	return s.c.do("cuMemcpyPeerAsync", func() error {
		return check("cuMemcpyPeerAsync", C.cuMemcpyPeerAsync(C.CUdeviceptr(dst), contextOf(s.c.handle), C.CUdeviceptr(src), contextOf(p.handle), C.size_t(bytes), streamOf(s.s)))
	})
}

// WaitPeer waits for an event of any context on the GPU.
func (s *stream) WaitPeer(v driver.Event) error {
	e, ok := v.(*event)
	if !ok {
		return fmt.Errorf("wait: the event is of another driver: %w", driver.ErrInvalid)
	}
	if s.capturing.Load() {
		return fmt.Errorf("wait: %w", driver.ErrCapture)
	}
	return s.c.do("cuStreamWaitEvent", func() error { return s.s.Wait(e.e, 0) })
}
