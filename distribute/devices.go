package distribute

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// DeviceKind is CPU or GPU.
type DeviceKind string

// The kinds of devices.
const (
	CPU DeviceKind = "CPU"
	GPU DeviceKind = "GPU"
)

// Device is what replicas compute on.
type Device struct {
	Name        string     `json:"name"` // as in runconfig.Strategy.Device: /cpu:0, /gpu:1
	Kind        DeviceKind `json:"kind"`
	Index       int        `json:"index"`        // within its kind: GPUs are numbered in the order of CUDA_VISIBLE_DEVICES
	MemoryLimit int64      `json:"memory_limit"` // bytes that this process may use; 0: unknown
	Description string     `json:"description"`
}

// ListDevices returns the devices of this machine that this process may use, of the given kinds or of all: the host, then
// the GPUs. It does not open them. If a GPU cannot be used the error says why, and the other devices are still returned.
// No GPU at all is no error.
func ListDevices(kinds ...DeviceKind) ([]Device, error) {
	for _, k := range kinds {
		if k != CPU && k != GPU {
			return nil, fmt.Errorf("list devices: kind %q: expected %s or %s", k, CPU, GPU)
		}
	}
	visible, err := gpus.Visible()
	if errors.Is(err, gpus.ErrNone) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("list devices: %w", err)
	}
	all := devicesOf(visible)
	if len(kinds) > 0 {
		all = slices.DeleteFunc(all, func(d Device) bool { return !slices.Contains(kinds, d.Kind) })
	}
	return all, err
}

// devicesOf returns the host and the given GPUs.
func devicesOf(visible []driver.Info) []Device {
	memory, _ := hostmemory.Total()
	all := []Device{{Name: gpus.Name{}.String(), Kind: CPU, MemoryLimit: memory, Description: fmt.Sprintf("%s, %d cores, %s", runtime.GOARCH, runtime.NumCPU(), kernels.ActiveLevel())}}
	for i, g := range visible {
		all = append(all, Device{Name: gpus.Name{GPU: true, Number: i}.String(), Kind: GPU, Index: i, MemoryLimit: g.Memory, Description: cuda.Describe(g)})
	}
	return all
}
