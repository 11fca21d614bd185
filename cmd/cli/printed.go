package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// printed is standard output. It keeps the first error, since callers that print do not check errors.
type printed struct {
	io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = cmp.Or(p.err, err)
	return n, err
}

// lost is the first error of printing; nil if the reader closed the pipe, like head.
func (p *printed) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil || closedPipe(p.err) {
		return nil
	}
	return fmt.Errorf("standard output: %w", p.err)
}

// closedPipe reports whether an error says that the reader has closed the pipe.
func closedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
