package driver

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

var (
	// ErrUnavailable means that this machine or this binary has no driver; the error around it says why.
	ErrUnavailable = errors.New("CUDA is not available")
	// ErrNoDevice means that the driver sees no GPU.
	ErrNoDevice = errors.New("no GPU is visible")
	// ErrPinned means that a copy uses host memory that is not from AllocHost.
	ErrPinned = errors.New("host memory of a copy is not pinned")
	// ErrInvalid means that the driver refuses an argument: an address, a size, a closed object.
	ErrInvalid = errors.New("invalid use of the GPU's driver")
	// ErrNotFound means that a module has no function of that name.
	ErrNotFound = errors.New("function not found")
	// ErrCapture means that work cannot be captured in a graph.
	ErrCapture = errors.New("not possible while a graph is captured")
)

// Code is CUresult, the driver's error number.
type Code int

// Codes that callers act upon.
const (
	CodeInvalidValue     Code = 1
	CodeOutOfMemory      Code = 2
	CodeNotInitialized   Code = 3
	CodeDeinitialized    Code = 4
	CodeNoDevice         Code = 100
	CodeInvalidDevice    Code = 101
	CodeInvalidImage     Code = 200
	CodeInvalidContext   Code = 201
	CodeNoBinary         Code = 209
	CodeECC              Code = 214
	CodeInvalidPTX       Code = 218
	CodeOldDriver        Code = 222
	CodeInvalidHandle    Code = 400
	CodeNotFound         Code = 500
	CodeNotReady         Code = 600
	CodeIllegalAddress   Code = 700
	CodeLaunchResources  Code = 701
	CodeLaunchTimeout    Code = 702
	CodeContextDestroyed Code = 709
	CodeAssert           Code = 710
	CodeHardwareStack    Code = 714 // up to 718: faults of kernels
	CodeLaunchFailed     Code = 719
	CodeCaptureUnsafe    Code = 900
	CodeCaptureLast      Code = 908
)

// Error is an error of a driver call.
type Error struct {
	Call string // "cuMemAlloc"
	Code Code
	Name string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
	if hint := hints[e.Code]; hint != "" {
		s += ": " + hint
	}
	return s
}

var hints = map[Code]string{
	CodeOutOfMemory:    "make the batch or the model smaller, or end other programs on this GPU",
	CodeNoDevice:       "see CUDA_VISIBLE_DEVICES and whether the container was given a GPU",
	CodeInvalidDevice:  "see CUDA_VISIBLE_DEVICES for the GPUs that are left visible",
	CodeOldDriver:      "the GPU's driver is older than the CUDA compiler: update the driver",
	CodeIllegalAddress: "a kernel touched memory that is not its own",
	CodeECC:            "the GPU's memory has an error that could not be corrected",
}

// Is makes errors.Is find this package's errors and device.ErrMemory.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNoDevice:
		return e.Code == CodeNoDevice || e.Code == CodeInvalidDevice
	case ErrInvalid:
		return e.Code == CodeInvalidValue || e.Code == CodeInvalidHandle || e.Code == CodeInvalidContext
	case ErrNotFound:
		return e.Code == CodeNotFound
	case ErrCapture:
		return e.Code >= CodeCaptureUnsafe && e.Code <= CodeCaptureLast
	case device.ErrMemory:
		return e.Code == CodeOutOfMemory
	}
	return false
}

// Sticky reports whether the context is lost, so that every later call in it returns the same error. (The range of these
// codes also has codes about peers and the host's memory, which are not sticky.)
func (e *Error) Sticky() bool {
	switch e.Code {
	case CodeECC, CodeIllegalAddress, CodeLaunchTimeout, CodeContextDestroyed, CodeAssert, CodeLaunchFailed:
		return true
	}
	return e.Code >= CodeHardwareStack && e.Code < CodeLaunchFailed
}
