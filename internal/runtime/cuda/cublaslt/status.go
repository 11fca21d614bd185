package cublaslt

import "fmt"

// Error is an error of a cuBLASLt call.
type Error struct {
	Call   string
	Status Status
}

// Status is cublasStatus_t.
type Status int

// Statuses that callers act upon.
const (
	StatusNotInitialized Status = 1
	StatusAllocation     Status = 3
	StatusInvalidValue   Status = 7
	StatusArchitecture   Status = 8
	StatusMapping        Status = 11
	StatusExecution      Status = 13
	StatusInternal       Status = 14
	StatusNotSupported   Status = 15
	StatusLicense        Status = 16
)

var statusTexts = map[Status]string{
	StatusNotInitialized: "it did not start: the driver may be too old for this version of the library",
	StatusAllocation:     "out of memory",
	StatusInvalidValue:   "invalid value",
	StatusArchitecture:   "the GPU is too old for it",
	StatusMapping:        "memory could not be mapped",
	StatusExecution:      "the GPU failed",
	StatusInternal:       "internal error",
	StatusNotSupported:   "not supported",
	StatusLicense:        "license error",
}

// Error implements error.
func (e *Error) Error() string {
	text := statusTexts[e.Status]
	if text == "" {
		text = "unknown status"
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, text, e.Status)
}

func check(call string, result uintptr) error {
	if s := Status(int32(result)); s != 0 {
		return &Error{call, s}
	}
	return nil
}
