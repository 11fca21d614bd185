package libcuda

import (
	"sync"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// Numbers of CUdevice_attribute.
const (
	attributeClock           = 13
	attributeMultiprocessors = 16
	attributeECC             = 32
	attributeMemoryClock     = 36
	attributeMemoryBus       = 37
	attributeMajor           = 75
	attributeMinor           = 76
	attributeSharedOptIn     = 97
)

type cuda struct {
	api
	path string
}

// Open loads libcuda and starts it. If there is no such library or it does not start, the error is a driver.ErrUnavailable
// that says why. It wraps a driver.ErrNoDevice if the library sees no GPU.
var Open = sync.OnceValues(func() (driver.Driver, error) {
	lib, err := dylib.Open(dylib.Driver)
	if err != nil {
		return nil, unavailable(err)
	}
	return start(lib)
})

func start(lib *dylib.Library) (driver.Driver, error) {
	d := &cuda{path: lib.Path()}
	if err := lib.Bind(d.symbols()); err != nil {
		return nil, unavailable(err)
	}
	if err := d.check("cuInit", d.init.Call(0)); err != nil {
		return nil, unavailable(err)
	}
	return d, nil
}

// Version asks the driver.
func (d *cuda) Version() (int, error) {
	v := new(int32)
	err := d.check("cuDriverGetVersion", d.version.Call(uintptr(unsafe.Pointer(v))))
	return int(*v), err
}

// Devices lists the visible GPUs.
func (d *cuda) Devices() ([]driver.Info, error) {
	n := new(int32)
	if err := d.check("cuDeviceGetCount", d.deviceCount.Call(uintptr(unsafe.Pointer(n)))); err != nil {
		return nil, err
	}
	out := make([]driver.Info, *n)
	for i := range out {
		dev, err := d.device(i)
		if err != nil {
			return nil, err
		}
		if out[i], err = d.info(dev); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// device returns the CUdevice of an ordinal.
func (d *cuda) device(ordinal int) (uintptr, error) {
	dev := new(int32)
	err := d.check("cuDeviceGet", d.deviceGet.Call(uintptr(unsafe.Pointer(dev)), uintptr(uint32(int32(ordinal)))))
	return uintptr(*dev), err
}

func (d *cuda) info(dev uintptr) (i driver.Info, err error) {
	name, memory := new([256]byte), new(uint64)
	if err := d.check("cuDeviceGetName", d.deviceName.Call(uintptr(unsafe.Pointer(name)), uintptr(len(name)), dev)); err != nil {
		return i, err
	}
	if err := d.check("cuDeviceTotalMem", d.deviceMemory.Call(uintptr(unsafe.Pointer(memory)), dev)); err != nil {
		return i, err
	}
	name[len(name)-1] = 0
	i.Name, i.Memory = cString(unsafe.Pointer(name)), int64(*memory)
	ecc := 0
	for attribute, to := range map[uintptr]*int{
		attributeMajor: &i.Major, attributeMinor: &i.Minor, attributeMultiprocessors: &i.Multiprocessors, attributeSharedOptIn: &i.SharedPerBlock,
		attributeClock: &i.ClockKHz, attributeMemoryClock: &i.MemoryClockKHz, attributeMemoryBus: &i.MemoryBusBits, attributeECC: &ecc,
	} {
		v := new(int32)
		if err := d.check("cuDeviceGetAttribute", d.deviceAttribute.Call(uintptr(unsafe.Pointer(v)), attribute, dev)); err != nil {
			return i, err
		}
		*to = int(*v)
	}
	i.ECC = ecc != 0
	return i, nil
}

// Open retains the primary context of a GPU.
func (d *cuda) Open(ordinal int) (driver.Context, error) {
	dev, err := d.device(ordinal)
	if err != nil {
		return nil, err
	}
	ctx := new(uintptr)
	if err := d.check("cuDevicePrimaryCtxRetain", d.primaryRetain.Call(uintptr(unsafe.Pointer(ctx)), dev)); err != nil {
		return nil, err
	}
	return &context{cuda: d, device: dev, handle: *ctx}, nil
}
