package queue

import "errors"

// Kinds of errors. The texts of errors are TensorFlow's.
var (
	// ErrCancelled says that a queue is closed, or was closed while a call waited to enqueue.
	ErrCancelled = errors.New("cancelled")
	// ErrOutOfRange says that a closed queue has too few elements.
	ErrOutOfRange = errors.New("out of range")
	// ErrLimit says that elements would take more memory than the queue may use.
	ErrLimit = errors.New("queue too large")
)

// Error is an error of a given kind with its own text.
type Error struct {
	Kind error
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }
