package libcuda

import (
	"runtime"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

var (
	_ driver.NativeStream  = (*stream)(nil)
	_ driver.NativeContext = (*context)(nil)
)

// Handle returns the CUstream.
func (s *stream) Handle() uintptr { return s.handle }

// Current runs f with the context current.
func (c *context) Current(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.check("cuCtxSetCurrent", c.ctxSetCurrent.Call(c.handle)); err != nil {
		return err
	}
	return f()
}
