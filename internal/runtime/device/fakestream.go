package device

import "fmt"

// fakeStream queues all work until it is waited for, as late as the interface allows.
type fakeStream struct {
	dev   *fakeDevice
	queue []command
	head  int // of the queue; commands before it are done
	done  int // commands begun since the stream was made
}

// command is a launch (kernel), a wait for another stream (after), or a copy.
type command struct {
	kernel   GoKernel
	after    *fakeEvent
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
	s.dev.streams.Lock()
	defer s.dev.streams.Unlock()
	return fakeEvent{s, s.done + len(s.queue) - s.head}, nil
}

func (s *fakeStream) After(e Event) error {
	f, ok := e.(fakeEvent)
	if !ok || f.s.dev != s.dev {
		return fmt.Errorf("wait for %T: %w", e, ErrEvent)
	}
	if f.s != s { // on this stream, earlier work is done first anyway
		s.add(command{after: &f})
	}
	return nil
}

func (s *fakeStream) Synchronize() error { return s.work(-1) }

func (s *fakeStream) add(c command) {
	s.dev.streams.Lock()
	defer s.dev.streams.Unlock()
	s.queue = append(s.queue, c)
}

type fakeEvent struct {
	s  *fakeStream
	at int // number of commands before it
}

func (e fakeEvent) Wait() error { return e.s.work(e.at) }

func (s *fakeStream) memory(b Buffer, offset, n int) ([]byte, error) {
	f, ok := b.(*fakeBuffer)
	if !ok || f.dev != s.dev {
		return nil, fmt.Errorf("%T: %w", b, ErrBuffer)
	}
	return window(f.mem, offset, n)
}

// work does queued commands up to number at, counted since the stream was made, or all for -1. After an error it drops the
// rest of them.
func (s *fakeStream) work(at int) error {
	s.dev.streams.Lock()
	defer s.dev.streams.Unlock()
	return s.workLocked(at)
}

// workLocked is work while no other stream of the device works.
func (s *fakeStream) workLocked(at int) (err error) {
	if at < 0 {
		at = s.done + len(s.queue) - s.head
	}
	if s.done >= at {
		return nil
	}
	if err := s.dev.open(); err != nil {
		return err
	}
	defer func() {
		if cerr := s.dev.close(); err == nil {
			err = cerr
		}
		if s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		}
	}()
	for s.done < at { // a stream that is waited for may wait for this one
		c := s.queue[s.head]
		s.queue[s.head] = command{}
		s.head++
		s.done++
		if err != nil {
			continue
		}
		err = c.do()
	}
	return err
}

func (c *command) do() error {
	switch {
	case c.kernel != nil:
		return c.kernel.Run()
	case c.after != nil:
		_ = c.after.s.workLocked(c.after.at) // its error is reported when that stream is waited for
	default:
		copy(c.to, c.from)
	}
	return nil
}
