package driver

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

var (
	// ErrUnavailable tells that this machine or this binary has no driver; the error around it says why.
	ErrUnavailable = errors.New("CUDA is not available")
	// ErrNoDevice tells that the driver sees no GPU.
	ErrNoDevice = errors.New("no GPU is visible")
	// ErrPinned tells of a copy from or to memory that AllocHost did not give.
	ErrPinned = errors.New("host memory of a copy is not pinned")
	// ErrInvalid tells of an argument that the driver refuses: an address, a size, an object that was closed.
	ErrInvalid = errors.New("invalid use of the GPU's driver")
	// ErrNotFound tells that a module has no function of a name.
	ErrNotFound = errors.New("function not found")
	// ErrCapture tells of work that a graph cannot be made of.
	ErrCapture = errors.New("not possible while a graph is captured")
)

// Code is CUresult, the driver's own number of an error.
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
	CodeHardwareStack    Code = 714 // up to 718: what a kernel did
	CodeLaunchFailed     Code = 719
	CodeCaptureUnsafe    Code = 900
	CodeCaptureLast      Code = 908
)

// Error is what the driver said to a call.
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

// Is makes errors.Is find this package's errors, and device.ErrMemory.
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

// Sticky reports whether the context is lost: every later call in it gives the same error. (Between the codes that tell of
// that are others: of peers, of the host's memory.)
func (e *Error) Sticky() bool {
	switch e.Code {
	case CodeECC, CodeIllegalAddress, CodeLaunchTimeout, CodeContextDestroyed, CodeAssert, CodeLaunchFailed:
		return true
	}
	return e.Code >= CodeHardwareStack && e.Code < CodeLaunchFailed
}
