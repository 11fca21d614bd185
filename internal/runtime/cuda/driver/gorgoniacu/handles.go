//go:build cu

package gorgoniacu

import (
	"runtime"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

var (
	_ driver.NativeStream  = (*stream)(nil)
	_ driver.NativeContext = (*context)(nil)
)

// Handle returns the CUstream.
func (s *stream) Handle() uintptr { return uintptr(unsafe.Pointer(streamOf(s.s))) }

// Current runs f with the context current.
func (c *context) Current(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(c.handle); err != nil {
		return wrap("cuCtxSetCurrent", err)
	}
	return f()
}
