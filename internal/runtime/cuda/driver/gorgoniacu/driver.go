//go:build cu

package gorgoniacu

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"gorgonia.org/cu"
)

type gpus struct{}

// Open returns the driver. (A process that gets here has a GPU: see the package's comment.)
func Open() (driver.Driver, error) { return gpus{}, nil }

// Version asks the driver.
func (gpus) Version() (int, error) { return driverVersion() }

// Attributes by their numbers in cuda.h: not all have names in gorgonia.org/cu.
const (
	clock           cu.DeviceAttribute = 13
	multiprocessors cu.DeviceAttribute = 16
	ecc             cu.DeviceAttribute = 32
	memoryClock     cu.DeviceAttribute = 36
	memoryBus       cu.DeviceAttribute = 37
	major           cu.DeviceAttribute = 75
	minor           cu.DeviceAttribute = 76
	sharedOptIn     cu.DeviceAttribute = 97
)

// Devices lists the visible GPUs.
func (gpus) Devices() ([]driver.Info, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, wrap("cuDeviceGetCount", err)
	}
	out := make([]driver.Info, n)
	for i := range out {
		d, err := cu.GetDevice(i)
		if err != nil {
			return nil, wrap("cuDeviceGet", err)
		}
		if out[i].Name, err = d.Name(); err != nil {
			return nil, wrap("cuDeviceGetName", err)
		}
		if out[i].Memory, err = d.TotalMem(); err != nil {
			return nil, wrap("cuDeviceTotalMem", err)
		}
		v, err := d.Attributes(major, minor, multiprocessors, sharedOptIn, clock, memoryClock, memoryBus, ecc)
		if err != nil {
			return nil, wrap("cuDeviceGetAttribute", err)
		}
		g := &out[i]
		g.Major, g.Minor, g.Multiprocessors, g.SharedPerBlock = v[0], v[1], v[2], v[3]
		g.ClockKHz, g.MemoryClockKHz, g.MemoryBusBits, g.ECC = v[4], v[5], v[6], v[7] != 0
	}
	return out, nil
}

// Open retains the primary context of a GPU.
func (gpus) Open(ordinal int) (driver.Context, error) {
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return nil, wrap("cuDeviceGet", err)
	}
	c, err := d.RetainPrimaryCtx()
	if err != nil {
		return nil, wrap("cuDevicePrimaryCtxRetain", err)
	}
	return &context{device: d, handle: c, pinned: map[*pinned]bool{}}, nil
}
