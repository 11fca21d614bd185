package summary

import (
	"errors"
	"io/fs"
	"sync"
)

// Lossy is a Writer whose file may fail, for example on a full disk. Events are then lost, and no error is returned. Each Flush tries a new
// file. Errors that do not come from the file, such as an invalid event, are returned.
type Lossy struct {
	open func() Writer // makes the writer of a new file
	lost func(error)   // called at the first failure

	mu     sync.Mutex
	now    Writer // nil: events are lost until the next Flush
	failed bool
	closed bool
}

var _ Writer = (*Lossy)(nil)

// NewLossy returns a Lossy. open returns the writer of a new file; lost is called once, with the first error.
func NewLossy(open func() Writer, lost func(error)) *Lossy {
	return &Lossy{open: open, lost: lost, now: open()}
}

// Scalar implements Writer.
func (w *Lossy) Scalar(step int64, tag string, value float64) error {
	return w.Values(step, Scalar(tag, value))
}

// Values implements Writer.
func (w *Lossy) Values(step int64, values ...*Value) error { return w.Add(valuesEvent(step, values)) }

// Add implements Writer.
func (w *Lossy) Add(e *Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return ErrClosed
	case w.now == nil:
		return nil
	}
	return w.checked(w.now.Add(e))
}

// Flush implements Writer.
func (w *Lossy) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		if !w.closed {
			w.now = w.open()
		}
		return nil
	}
	return w.checked(w.now.Flush())
}

// Close implements Writer.
func (w *Lossy) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.now == nil {
		return nil
	}
	return w.checked(w.now.Close())
}

// checked gives up the file if err comes from it.
func (w *Lossy) checked(err error) error {
	if !errors.As(err, new(*fs.PathError)) {
		return err
	}
	if !w.failed {
		w.failed = true
		w.lost(err)
	}
	_ = w.now.Close() // it fails again
	w.now = nil
	return nil
}
