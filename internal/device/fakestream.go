package device

import "fmt"

// fakeStream queues everything and works only when it is waited for: the latest that the interface allows.
type fakeStream struct {
	dev   *fakeDevice
	queue []command
	done  int // commands finished since the stream was made
}

// command is a launch (kernel), or a copy between device memory and host memory.
type command struct {
	kernel GoKernel
	mem    []byte // device
	host   []byte
	up     bool
}

func (s *fakeStream) Upload(dst Buffer, offset int, src []byte) error {
	mem, err := s.memory(dst, offset, len(src))
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	s.queue = append(s.queue, command{mem: mem, host: src, up: true})
	return nil
}

func (s *fakeStream) Download(dst []byte, src Buffer, offset int) error {
	mem, err := s.memory(src, offset, len(dst))
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	s.queue = append(s.queue, command{mem: mem, host: dst})
	return nil
}

func (s *fakeStream) Launch(k Kernel) error {
	g, ok := k.(GoKernel)
	if !ok {
		return fmt.Errorf("launch %T on the fake device: %w", k, ErrKernel)
	}
	s.queue = append(s.queue, command{kernel: g})
	return nil
}

func (s *fakeStream) Record() (Event, error) {
	return fakeEvent{s, s.done + len(s.queue)}, nil
}

func (s *fakeStream) Synchronize() error { return s.work(len(s.queue)) }

type fakeEvent struct {
	s  *fakeStream
	at int // commands that precede it
}

func (e fakeEvent) Wait() error { return e.s.work(max(e.at-e.s.done, 0)) }

func (s *fakeStream) memory(b Buffer, offset, n int) ([]byte, error) {
	f, ok := b.(*fakeBuffer)
	if !ok || f.dev != s.dev {
		return nil, fmt.Errorf("%T: %w", b, ErrBuffer)
	}
	return window(f.mem, offset, n)
}

// work does the first n queued commands. After an error those left of the n are dropped.
func (s *fakeStream) work(n int) (err error) {
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
	case c.up:
		copy(c.mem, c.host)
	default:
		copy(c.host, c.mem)
	}
	return nil
}
