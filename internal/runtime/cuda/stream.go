package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// Stream is a stream of a GPU. Copies from and to memory that is not page-locked go through staging memory. When Upload
// returns, it does not need src any more, unless src is memory of Device.AllocHost.
type Stream struct {
	d *Device
	s driver.Stream

	mu     sync.Mutex // guards the fields below: any goroutine may wait for events
	ring   ring
	events []*event // events of work that may not be done
	spare  []driver.Event
	closed bool

	programs []*code // launched since the last Synchronize
}

// Native returns the driver's stream, to which CUDA's libraries issue work.
func (s *Stream) Native() driver.Stream { return s.s }

// Upload copies src to a buffer.
func (s *Stream) Upload(dst device.Buffer, offset int, src []byte) error {
	p, err := s.begin(dst, offset, len(src))
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if s.d.hosts.hold(src) {
		return s.done("upload", s.s.Upload(p, src))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(src) > 0 {
		mem, _, err := s.ring.acquire(s.s, len(src))
		if err != nil {
			return s.done("upload", err)
		}
		copy(mem, src)
		if err := s.s.Upload(p, mem); err != nil {
			return s.done("upload", err)
		}
		p, src = p+driver.Ptr(len(mem)), src[len(mem):]
	}
	return nil
}

// Download copies from a buffer to dst, which is valid after waiting for the stream.
func (s *Stream) Download(dst []byte, src device.Buffer, offset int) error {
	p, err := s.begin(src, offset, len(dst))
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	if s.d.hosts.hold(dst) {
		return s.done("download", s.s.Download(dst, p))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(dst) > 0 {
		mem, b, err := s.ring.acquire(s.s, len(dst))
		if err != nil {
			return s.done("download", err)
		}
		if err := s.s.Download(mem, p); err != nil {
			return s.done("download", err)
		}
		b.out = append(b.out, arrival{dst[:len(mem)], mem, s.ring.issued})
		p, dst = p+driver.Ptr(len(mem)), dst[len(mem):]
	}
	return nil
}

// Copy copies within the GPU.
func (s *Stream) Copy(dst device.Buffer, dstOffset int, src device.Buffer, srcOffset, bytes int) error {
	to, err := s.begin(dst, dstOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	from, err := s.begin(src, srcOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return s.done("copy", s.s.Copy(to, from, bytes))
}

// Launch issues a segment of a program of this device.
func (s *Stream) Launch(k device.Kernel) error {
	g, ok := k.(*segment)
	if !ok || g.c.d != s.d {
		return fmt.Errorf("launch %T on %s: %w", k, s.d.name, device.ErrKernel)
	}
	if err := s.d.alive(); err != nil {
		return err
	}
	return s.done("launch", g.launch(s))
}

// maxEvents is the most events of unfinished work; then Record waits for the oldest.
const maxEvents = 64

// Record returns an event after the work issued so far.
func (s *Stream) Record() (device.Event, error) {
	if err := s.d.alive(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) >= maxEvents {
		if err := s.events[0].native.Synchronize(); err != nil {
			return nil, s.done("record", err)
		}
		s.retire(1)
	}
	var native driver.Event
	if n := len(s.spare); n > 0 {
		native, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		var err error
		if native, err = s.d.context.NewEvent(false); err != nil {
			return nil, s.done("record", err)
		}
	}
	if err := s.s.Record(native); err != nil {
		s.spare = append(s.spare, native)
		return nil, s.done("record", err)
	}
	e := &event{s: s, native: native, copies: s.ring.issued}
	s.events = append(s.events, e)
	return e, nil
}

// retire takes back the driver's events of the first n events, whose work is done, unless somebody waits for them.
func (s *Stream) retire(n int) {
	rest := s.events[:0]
	for i, e := range s.events {
		if i >= n || e.waiting > 0 {
			rest = append(rest, e)
			continue
		}
		s.spare = append(s.spare, e.native)
		e.native = nil
	}
	clear(s.events[len(rest):])
	s.events = rest
}

// After makes later work wait for an event of any stream of the same GPU.
func (s *Stream) After(v device.Event) error {
	e, ok := v.(*event)
	if !ok || e.s.d != s.d {
		return fmt.Errorf("wait for %T on %s: %w", v, s.d.name, device.ErrEvent)
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	if e.native == nil {
		return nil
	}
	return s.done("wait for an event", s.s.Wait(e.native))
}

// Synchronize waits for the work issued so far. Its error is the driver's, or a program's *engine.FaultError.
func (s *Stream) Synchronize() error {
	if err := s.d.alive(); err != nil {
		return err
	}
	programs := s.programs
	s.programs = s.programs[:0]
	for _, c := range programs {
		if err := c.readFault(s.s); err != nil {
			return s.done("synchronize", err)
		}
	}
	err := s.done("synchronize", s.s.Synchronize())
	s.finish(err == nil)
	if err != nil {
		return err
	}
	for _, c := range programs {
		if err := c.foundFault(); err != nil {
			return err
		}
	}
	return nil
}

// finish releases everything that waits for the stream's work, which is over. well says whether it succeeded.
func (s *Stream) finish(well bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if well {
		s.ring.arrive(s.ring.issued)
	}
	s.ring.reset()
	s.retire(len(s.events))
}

// Close waits for the work and closes the stream.
func (s *Stream) Close() error {
	s.d.mu.Lock()
	delete(s.d.streams, s)
	s.d.mu.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	errs := []error{s.s.Close()}
	s.finish(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.spare {
		errs = append(errs, e.Close())
	}
	s.spare = nil
	return s.done("close a stream", errors.Join(append(errs, s.ring.close())...))
}

// begin checks a copy's buffer and returns its address.
func (s *Stream) begin(b device.Buffer, offset, n int) (driver.Ptr, error) {
	if err := s.d.alive(); err != nil {
		return 0, err
	}
	return s.d.window(b, offset, n)
}

// done returns err with a description of what failed.
func (s *Stream) done(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s on %s: %w", what, s.d.name, s.d.check(err))
}

// event is a point in a stream.
type event struct {
	s      *Stream
	copies int // copies through staging before it

	// Under s.mu:
	native  driver.Event // nil once the stream has been waited for
	waiting int
}

// Wait waits for the work before the event. Downloads before it have then arrived.
func (e *event) Wait() error {
	s := e.s
	if err := s.d.alive(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.native == nil {
		return nil
	}
	e.waiting++
	s.mu.Unlock()
	err := e.native.Synchronize()
	s.mu.Lock()
	e.waiting--
	if err != nil {
		return s.done("wait", err)
	}
	s.ring.arrive(e.copies)
	s.retire(slices.Index(s.events, e) + 1)
	return nil
}
