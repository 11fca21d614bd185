package bundle

import (
	"errors"
	"fmt"
)

// ErrNotFound is wrapped by the error for a tensor that is not in a bundle.
var ErrNotFound = errors.New("tensor not found")

// ErrUnsupported is wrapped by the error for a tensor of a type that cannot be
// held in host memory, such as variant or resource.
var ErrUnsupported = errors.New("unsupported data type")

// CorruptError says that the bytes of a file contradict each other.
type CorruptError struct {
	Path   string // the file
	Key    string // the tensor, "" if none is concerned
	Offset int64  // position in the file
	Reason string
	Want   uint32 // the stored checksum, if checksums differ
	Got    uint32 // the computed checksum
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
