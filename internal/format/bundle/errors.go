package bundle

import (
	"errors"
	"fmt"
)

// ErrNotFound is wrapped by the error for a tensor that a bundle lacks.
var ErrNotFound = errors.New("tensor not found")

// ErrUnsupported is wrapped by the error for a tensor of a type that cannot be
// held in host memory (variant, resource, complex128 and the like).
var ErrUnsupported = errors.New("unsupported data type")

// CorruptError says that a file's bytes contradict themselves.
type CorruptError struct {
	Path   string // the file
	Key    string // the tensor, "" where none is concerned
	Offset int64  // where in the file
	Reason string
	Want   uint32 // the stored checksum where checksums differ
	Got    uint32 // the computed one
	Err    error  // the cause, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	msg := "corrupt checkpoint file " + e.Path
	if e.Key != "" {
		msg += fmt.Sprintf(", tensor %q", e.Key)
	}
	msg += fmt.Sprintf(", offset %d: %s", e.Offset, e.Reason)
	if e.Want != e.Got {
		msg += fmt.Sprintf(": stored %08x, computed %08x", e.Want, e.Got)
	}
	return msg
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
