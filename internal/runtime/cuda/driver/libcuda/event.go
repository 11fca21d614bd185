package libcuda

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const disableTiming = 2 // CU_EVENT_DISABLE_TIMING

type event struct {
	c      *context
	handle uintptr
	timing bool
}

// NewEvent makes an event.
func (c *context) NewEvent(timing bool) (driver.Event, error) {
	var flags uintptr
	if !timing {
		flags = disableTiming
	}
	h := new(uintptr)
	if err := c.do("cuEventCreate", c.eventCreate, uintptr(unsafe.Pointer(h)), flags); err != nil {
		return nil, err
	}
	return &event{c, *h, timing}, nil
}

// Synchronize waits for the event.
func (e *event) Synchronize() error { return e.c.do("cuEventSynchronize", e.c.eventSync, e.handle) }

// Since returns the time between two events. The driver's resolution is half a microsecond.
func (e *event) Since(earlier driver.Event) (time.Duration, error) {
	f, ok := earlier.(*event)
	if !ok || f.c != e.c || !e.timing || !f.timing {
		return 0, fmt.Errorf("time between events: expected two with timing of one context: %w", driver.ErrInvalid)
	}
	ms := new(float32)
	err := e.c.do("cuEventElapsedTime", e.c.eventElapsed, uintptr(unsafe.Pointer(ms)), f.handle, e.handle)
	return time.Duration(float64(*ms) * float64(time.Millisecond)), err
}

// Close destroys the event.
func (e *event) Close() error { return e.c.do("cuEventDestroy", e.c.eventDestroy, e.handle) }
