package bundle

import (
	"errors"
	"fmt"
	"io"
)

// ErrNotFound is wrapped by the error for a tensor that is not in a bundle.
var ErrNotFound = errors.New("tensor not found")

// ErrUnsupported is wrapped by the error for a tensor of a type that cannot be
// held in host memory, such as variant or resource.
var ErrUnsupported = errors.New("unsupported data type")

// CorruptError says that the bytes of a file contradict each other, or are missing. Errors of reads that are no damage are not of this type.
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

// shortRead returns the error of a read of want bytes at c.Offset that gave n of them. A file that ends before is damaged; another error,
// such as of a network file system that is away, says nothing about the bytes of the file.
func shortRead(c CorruptError, n, want int, err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %d bytes at offset %d of %s: %w", want, c.Offset, c.Path, err)
	}
	c.Offset, c.Err = c.Offset+int64(n), io.ErrUnexpectedEOF
	c.Reason = fmt.Sprintf("read %d of %d bytes: %v", n, want, c.Err)
	return &c
}
