package device

import (
	"fmt"
	"sync"
)

// fakeStream queues everything and works only when it is waited for: the latest that the interface allows.
type fakeStream struct {
	dev   *fakeDevice
	mu    sync.Mutex // events are waited for by other goroutines
	queue []command
	done  int // commands finished since the stream was made
}

// command is a launch (kernel), a wait for another stream (after), or a copy.
type command struct {
	kernel   GoKernel
	after    Event
	to, from []byte
}

func (s *fakeStream) Upload(dst Buffer, offset int, src []byte) error {
	mem, err := s.memory(dst, offset, len(src))
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	s.add(command{to: mem, from: src})
	return nil
}

func (s *fakeStream) Download(dst []byte, src Buffer, offset int) error {
	mem, err := s.memory(src, offset, len(dst))
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	s.add(command{to: dst, from: mem})
	return nil
}

func (s *fakeStream) Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error {
	to, err := s.memory(dst, dstOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy to: %w", err)
	}
	from, err := s.memory(src, srcOffset, bytes)
	if err != nil {
		return fmt.Errorf("copy from: %w", err)
	}
	s.add(command{to: to, from: from})
	return nil
}

func (s *fakeStream) Launch(k Kernel) error {
	g, ok := k.(GoKernel)
	if !ok {
		return fmt.Errorf("launch %T on the fake device: %w", k, ErrKernel)
	}
	s.add(command{kernel: g})
	return nil
}

func (s *fakeStream) Record() (Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fakeEvent{s, s.done + len(s.queue)}, nil
}

func (s *fakeStream) After(e Event) error {
	f, ok := e.(fakeEvent)
	if !ok || f.s.dev != s.dev {
		return fmt.Errorf("wait for %T: %w", e, ErrEvent)
	}
	if f.s != s { // what precedes it on this stream is done before anyway
		s.add(command{after: f})
	}
	return nil
}

func (s *fakeStream) Synchronize() error { return s.work(-1) }

func (s *fakeStream) add(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, c)
}

type fakeEvent struct {
	s  *fakeStream
	at int // commands that precede it
}

func (e fakeEvent) Wait() error { return e.s.work(e.at) }

func (s *fakeStream) memory(b Buffer, offset, n int) ([]byte, error) {
	f, ok := b.(*fakeBuffer)
	if !ok || f.dev != s.dev {
		return nil, fmt.Errorf("%T: %w", b, ErrBuffer)
	}
	return window(f.mem, offset, n)
}

// work does queued commands up to the one numbered at since the stream was made, -1 for all. After an error those left of
// them are dropped.
func (s *fakeStream) work(at int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.queue)
	if at >= 0 {
		n = max(at-s.done, 0)
	}
	if n == 0 {
		return nil
	}
	if err := s.dev.open(); err != nil {
		return err
	}
	defer func() {
		if cerr := s.dev.close(); err == nil {
			err = cerr
		}
		s.done += n
		s.queue = s.queue[:copy(s.queue, s.queue[n:])]
	}()
	for i := range s.queue[:n] {
		if err = s.queue[i].do(); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) do() error {
	switch {
	case c.kernel != nil:
		return c.kernel.Run()
	case c.after != nil:
		_ = c.after.Wait() // its error is told to those who wait for that stream
	default:
		copy(c.to, c.from)
	}
	return nil
}
