package gpus

import (
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// Underlying returns the device that a Chooser lent, which libraries of its kind know; others are themselves.
func Underlying(dev device.Device) device.Device {
	switch l := dev.(type) {
	case lent:
		return l.Device
	case lentAccelerator:
		return l.Accelerator
	case lentPinning:
		return l.Accelerator
	}
	return dev
}

// lend returns a device that is dev but for Close, with what dev can do besides.
func lend(dev device.Device, end func() error) device.Device {
	l := lent{dev, end}
	a, ok := dev.(engine.Accelerator)
	if !ok {
		return l
	}
	if h, ok := dev.(device.HostAllocator); ok {
		return lentPinning{lentAccelerator{a, end}, h}
	}
	return lentAccelerator{a, end}
}

type lent struct {
	device.Device
	end func() error
}

// Close ends this use of the device; what was allocated is freed by its users before.
func (l lent) Close() error { return l.end() }

type lentAccelerator struct {
	engine.Accelerator
	end func() error
}

// Close ends this use.
func (l lentAccelerator) Close() error { return l.end() }

type lentPinning struct {
	lentAccelerator
	device.HostAllocator
}
