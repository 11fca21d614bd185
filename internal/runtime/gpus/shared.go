package gpus

import (
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// Underlying returns the device behind a Chooser's handle, for libraries that need its own type. It returns other devices
// unchanged.
func Underlying(dev device.Device) device.Device {
	switch l := dev.(type) {
	case sharedDevice:
		return l.Device
	case sharedAccelerator:
		return l.Accelerator
	case sharedPinning:
		return l.Accelerator
	}
	return dev
}

// handle returns dev with another Close, and with the other interfaces that dev implements.
func handle(dev device.Device, end func() error) device.Device {
	l := sharedDevice{dev, end}
	a, ok := dev.(engine.Accelerator)
	if !ok {
		return l
	}
	if h, ok := dev.(device.HostAllocator); ok {
		return sharedPinning{sharedAccelerator{a, end}, h}
	}
	return sharedAccelerator{a, end}
}

type sharedDevice struct {
	device.Device
	end func() error
}

// Close ends this use of the device. Users must have freed their allocations before.
func (l sharedDevice) Close() error { return l.end() }

type sharedAccelerator struct {
	engine.Accelerator
	end func() error
}

// Close ends this use.
func (l sharedAccelerator) Close() error { return l.end() }

type sharedPinning struct {
	sharedAccelerator
	device.HostAllocator
}
