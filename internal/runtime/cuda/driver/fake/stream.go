package fake

import (
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// work is one command of a stream.
type work func() error

// Stream is a driver.Stream: a queue and a goroutine.
type Stream struct {
	c    *Context
	mu   sync.Mutex
	cond *sync.Cond

	queue   []work
	issued  int // commands ever put in the queue
	done    int
	closing bool
	ended   chan struct{}

	capturing bool
	captured  []work
}

// NewStream starts a stream.
func (c *Context) NewStream() (driver.Stream, error) {
	if err := c.enter("NewStream"); err != nil {
		return nil, err
	}
	s := &Stream{c: c, ended: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	c.count("stream", +1)
	go s.run()
	return s, nil
}

// run does the commands in order. After an error of the work, all streams of the context only count commands.
func (s *Stream) run() {
	defer close(s.ended)
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closing {
			s.cond.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		if err := w(); err != nil {
			s.c.fail(err)
		}
		s.mu.Lock()
		s.done++
		s.cond.Broadcast()
		s.mu.Unlock()
	}
}

// issue puts a command into the queue, or into the graph that is being captured.
func (s *Stream) issue(call string, w work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return failed(call, driver.CodeInvalidHandle, "the stream is closed")
	}
	if s.capturing {
		s.captured = append(s.captured, w)
		return nil
	}
	s.push(w)
	return nil
}

// push is issue with mu held.
func (s *Stream) push(w work) {
	s.queue = append(s.queue, w)
	s.issued++
	s.cond.Broadcast()
}

// useful returns work that does w unless the context is lost by then.
func (s *Stream) useful(w work) work {
	return func() error {
		if s.c.lostError() != nil {
			return nil
		}
		return w()
	}
}

// Upload copies from pinned memory.
func (s *Stream) Upload(dst driver.Ptr, src []byte) error {
	return s.transfer("Upload", dst, src, true)
}

// Download copies to pinned memory.
func (s *Stream) Download(dst []byte, src driver.Ptr) error {
	return s.transfer("Download", src, dst, false)
}

func (s *Stream) transfer(call string, p driver.Ptr, host []byte, up bool) error {
	if err := s.c.enter(call); err != nil || len(host) == 0 {
		return err
	}
	if !s.c.isPinned(host) {
		return fmt.Errorf("%s of %d bytes: %w: use AllocHost's", call, len(host), driver.ErrPinned)
	}
	if _, _, ok := s.c.window(p, len(host)); !ok {
		return failed(call, driver.CodeInvalidValue, fmt.Sprintf("%d bytes at %#x are not of one allocation", len(host), p))
	}
	return s.issue(call, s.useful(func() error {
		mem, _, ok := s.c.window(p, len(host))
		if !ok {
			return failed(call, driver.CodeIllegalAddress, fmt.Sprintf("%#x was freed while the copy was in the stream", p))
		}
		if up {
			copy(mem, host)
		} else {
			copy(host, mem)
		}
		return nil
	}))
}

// Copy copies within the GPU.
func (s *Stream) Copy(dst, src driver.Ptr, bytes int) error {
	return s.within("Copy", bytes, []driver.Ptr{dst, src}, func(mem [][]byte) { copy(mem[0], mem[1]) })
}

// Fill sets bytes.
func (s *Stream) Fill(dst driver.Ptr, value byte, bytes int) error {
	return s.within("Fill", bytes, []driver.Ptr{dst}, func(mem [][]byte) { fill(mem[0], value) })
}

// within issues do on memory of the GPU.
func (s *Stream) within(call string, bytes int, at []driver.Ptr, do func(mem [][]byte)) error {
	if err := s.c.enter(call); err != nil || bytes == 0 {
		return err
	}
	windows := func() ([][]byte, bool) {
		mem := make([][]byte, len(at))
		for i, p := range at {
			var ok bool
			if mem[i], _, ok = s.c.window(p, bytes); !ok {
				return nil, false
			}
		}
		return mem, bytes > 0
	}
	if _, ok := windows(); !ok {
		return failed(call, driver.CodeInvalidValue, fmt.Sprintf("%d bytes at %#x are not of one allocation", bytes, at))
	}
	return s.issue(call, s.useful(func() error {
		mem, ok := windows()
		if !ok {
			return failed(call, driver.CodeIllegalAddress, "memory was freed while the command was in the stream")
		}
		do(mem)
		return nil
	}))
}

// Synchronize waits for all that was issued.
func (s *Stream) Synchronize() error {
	if err := s.c.enter("Synchronize"); err != nil {
		return err
	}
	s.mu.Lock()
	if s.capturing {
		s.mu.Unlock()
		return failed("Synchronize", driver.CodeCaptureUnsafe, "a graph is being captured")
	}
	for until := s.issued; s.done < until; {
		s.cond.Wait()
	}
	s.mu.Unlock()
	return s.c.lostError()
}

// Close waits for the work and ends the goroutine.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return failed("CloseStream", driver.CodeInvalidHandle, "closed before")
	}
	s.closing = true
	s.cond.Broadcast()
	s.mu.Unlock()
	<-s.ended
	s.c.count("stream", -1)
	return s.c.lostError()
}

// Capture makes a graph of what record issues.
func (s *Stream) Capture(record func() error) (driver.Graph, error) {
	if err := s.c.enter("Capture"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.capturing || s.closing {
		s.mu.Unlock()
		return nil, failed("Capture", driver.CodeCaptureUnsafe, "the stream captures already, or is closed")
	}
	s.capturing = true
	s.mu.Unlock()
	err := record()
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := slices.Clone(s.captured)
	s.capturing, s.captured = false, s.captured[:0]
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	s.c.count("graph", +1)
	return &graph{c: s.c, nodes: nodes}, nil
}

// graph is captured work.
type graph struct {
	c      *Context
	nodes  []work
	closed bool
}

// Launch issues the work.
func (g *graph) Launch(s driver.Stream) error {
	if err := g.c.enter("LaunchGraph"); err != nil {
		return err
	}
	f, ok := s.(*Stream)
	if !ok || f.c != g.c || g.closed {
		return failed("LaunchGraph", driver.CodeInvalidHandle, "the stream is of another context, or the graph is closed")
	}
	return f.issue("LaunchGraph", func() error {
		for _, w := range g.nodes {
			if err := w(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the graph.
func (g *graph) Close() error {
	if g.closed {
		return failed("CloseGraph", driver.CodeInvalidHandle, "closed before")
	}
	g.closed = true
	g.c.count("graph", -1)
	return nil
}
