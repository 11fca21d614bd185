package device

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// NewHost returns the device that computes in the process's own memory. Its streams work at once.
func NewHost() Device { return hostDevice{} }

type hostDevice struct{}

// maxBytes is more than any process can address.
const maxBytes = 1 << 47

// hostMemory is asked once: it reads files.
var hostMemory = sync.OnceValues(hostmemory.Total)

func (hostDevice) Kind() string { return KindHost }

func (hostDevice) Alloc(bytes int) (Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocate on the host: expected a size >= 0, got %d bytes", bytes)
	}
	if total, ok := hostMemory(); bytes > maxBytes || ok && int64(bytes) > total {
		return nil, fmt.Errorf("allocate %d bytes on the host: %w", bytes, ErrMemory)
	}
	return &hostBuffer{alignedBytes(bytes)}, nil
}

func (hostDevice) NewStream() (Stream, error) { return &hostStream{}, nil }

func (hostDevice) Close() error { return nil }

type hostBuffer struct{ mem []byte }

func (b *hostBuffer) Len() int    { return len(b.mem) }
func (b *hostBuffer) Free() error { b.mem = nil; return nil }
func (b *hostBuffer) Map() []byte { return b.mem }

// Discard implements Discarder.
func (b *hostBuffer) Discard() bool { return discardPages(b.mem) }

// hostStream keeps the first error until it is waited for, as an asynchronous stream does.
type hostStream struct{ err error }

func (s *hostStream) record(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *hostStream) Upload(dst Buffer, offset int, src []byte) error {
	mem, err := hostRange(dst, offset, len(src))
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	copy(mem, src)
	return nil
}

func (s *hostStream) Download(dst []byte, src Buffer, offset int) error {
	mem, err := hostRange(src, offset, len(dst))
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	copy(dst, mem)
	return nil
}

func (s *hostStream) Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error {
	to, err := hostRange(dst, dstOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy to: %w", err)
	}
	from, err := hostRange(src, srcOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy from: %w", err)
	}
	copy(to, from)
	return nil
}

func (s *hostStream) Launch(k Kernel) error {
	g, ok := k.(GoKernel)
	if !ok {
		return fmt.Errorf("launch %T on the host: %w", k, ErrKernel)
	}
	if s.err == nil {
		s.record(g.Run())
	}
	return nil
}

func (s *hostStream) Record() (Event, error) { return hostEvent{s.err}, nil }

// After has nothing to wait for: the work before an event is done.
func (s *hostStream) After(e Event) error {
	if _, ok := e.(hostEvent); !ok {
		return fmt.Errorf("wait for %T: %w", e, ErrEvent)
	}
	return nil
}

func (s *hostStream) Synchronize() error {
	err := s.err
	s.err = nil
	return err
}

// hostEvent has the error of the work before it.
type hostEvent struct{ err error }

func (e hostEvent) Wait() error { return e.err }

func hostRange(b Buffer, offset, n int) ([]byte, error) {
	h, ok := b.(*hostBuffer)
	if !ok {
		return nil, fmt.Errorf("%T: %w", b, ErrBuffer)
	}
	return window(h.mem, offset, n)
}

// window returns n bytes of mem from offset, or ErrRange.
func window(mem []byte, offset, n int) ([]byte, error) {
	if offset < 0 || n < 0 || offset > len(mem)-n {
		return nil, fmt.Errorf("%d bytes at %d of %d: %w", n, offset, len(mem), ErrRange)
	}
	return mem[offset : offset+n], nil
}
