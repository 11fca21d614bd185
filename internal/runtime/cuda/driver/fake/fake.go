package fake

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Driver is a driver.Driver with any number of GPUs.
type Driver struct {
	gpus []driver.Info

	mu      sync.Mutex
	kernels map[string]Kernel
	faults  map[string]*fault
	open    []*Context
}

type fault struct {
	after int
	err   error
}

// Default is a GPU like the ones that the kernels are made for, with little memory.
var Default = driver.Info{Name: "Fake GPU", Major: 9, Memory: 1 << 30, Multiprocessors: 4, SharedPerBlock: 227 << 10,
	ClockKHz: 1_000_000, MemoryClockKHz: 1_000_000, MemoryBusBits: 1024}

// New returns a driver with the given GPUs.
func New(gpus ...driver.Info) *Driver {
	return &Driver{gpus: gpus, kernels: map[string]Kernel{}, faults: map[string]*fault{}}
}

// Kernel does the work of a launch.
type Kernel func(c *Call) error

// Register sets what the kernel of that name does, in every module that has one.
func (d *Driver) Register(name string, k Kernel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kernels[name] = k
}

func (d *Driver) kernel(name string) Kernel {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kernels[name]
}

// Inject makes a call fail once, after it has succeeded the given number of times. Calls are named after the methods
// ("Alloc", "Upload", ...); "Kernel" fails the work of a launch.
func (d *Driver) Inject(call string, after int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[call] = &fault{after, err}
}

func (d *Driver) fault(call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.faults[call]
	if f == nil {
		return nil
	}
	if f.after > 0 {
		f.after--
		return nil
	}
	delete(d.faults, call)
	return f.err
}

// Version returns 12.4.
func (d *Driver) Version() (int, error) { return 12040, d.fault("Version") }

// Devices lists the GPUs that New was given.
func (d *Driver) Devices() ([]driver.Info, error) { return slices.Clone(d.gpus), d.fault("Devices") }

// Open makes a context.
func (d *Driver) Open(ordinal int) (driver.Context, error) {
	if err := d.fault("Open"); err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(d.gpus) {
		return nil, failed("Open", driver.CodeInvalidDevice, fmt.Sprintf("GPU %d of %d", ordinal, len(d.gpus)))
	}
	c := &Context{d: d, info: d.gpus[ordinal], blocks: map[driver.Ptr]*block{}, pinned: map[*pinned]bool{}, next: firstAddress, live: map[string]int{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, c)
	return c, nil
}

// Leaks returns an error that lists everything that was made and not freed, in all contexts, closed ones included.
func (d *Driver) Leaks() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for i, c := range d.open {
		if err := c.leaks(); err != nil {
			errs = append(errs, fmt.Errorf("context %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// failed makes the error that a driver would give.
func failed(call string, code driver.Code, text string) error {
	names := map[driver.Code]string{driver.CodeInvalidValue: "CUDA_ERROR_INVALID_VALUE", driver.CodeOutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY",
		driver.CodeInvalidDevice: "CUDA_ERROR_INVALID_DEVICE", driver.CodeInvalidContext: "CUDA_ERROR_INVALID_CONTEXT",
		driver.CodeInvalidHandle: "CUDA_ERROR_INVALID_HANDLE", driver.CodeIllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS",
		driver.CodeNotFound: "CUDA_ERROR_NOT_FOUND", driver.CodeInvalidPTX: "CUDA_ERROR_INVALID_PTX",
		driver.CodeCaptureUnsafe: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", driver.CodeLaunchFailed: "CUDA_ERROR_LAUNCH_FAILED",
		driver.CodeNotReady: "CUDA_ERROR_NOT_READY"}
	return &driver.Error{Call: call, Code: code, Name: names[code], Text: text}
}
