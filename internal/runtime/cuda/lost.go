package cuda

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// LostError means that this process cannot use a GPU any more: after an error of that kind, the driver refuses all calls.
// errors.Is finds device.ErrLost.
type LostError struct {
	GPU string
	Err error // the driver's first error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s is lost for this process: start it again, it goes on from the last checkpoint: %v", e.GPU, e.Err)
}

// Unwrap returns the driver's error.
func (e *LostError) Unwrap() error { return e.Err }

// Is makes errors.Is find device.ErrLost.
func (e *LostError) Is(target error) bool { return target == device.ErrLost }

// check marks the device lost if the error says so.
func (d *Device) check(err error) error {
	var e *driver.Error
	if err == nil || !errors.As(err, &e) || !e.Sticky() {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		d.lost = &LostError{d.name, err}
	}
	return d.lost
}

// alive fails if the device is lost.
func (d *Device) alive() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}
