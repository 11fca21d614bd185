package fake

import (
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// event is a driver.Event.
type event struct {
	c      *Context
	timing bool

	mu     sync.Mutex
	last   *mark
	closed bool
}

// mark is one recording of an event.
type mark struct {
	done chan struct{}
	at   time.Time // valid once done is closed
}

// NewEvent returns an event that nothing has recorded.
func (c *Context) NewEvent(timing bool) (driver.Event, error) {
	if err := c.enter("NewEvent"); err != nil {
		return nil, err
	}
	c.count("event", +1)
	return &event{c: c, timing: timing}, nil
}

func (e *event) current() (*mark, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, failed("Event", driver.CodeInvalidHandle, "the event is closed")
	}
	return e.last, nil
}

// Record makes the event stand for the work so far.
func (s *Stream) Record(v driver.Event) error {
	e, err := s.event("Record", v)
	if err != nil {
		return err
	}
	m := &mark{done: make(chan struct{})}
	if err := s.issue("Record", func() error { m.at = time.Now(); close(m.done); return nil }); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = m
	return nil
}

// Wait makes later work wait for the event.
func (s *Stream) Wait(v driver.Event) error {
	e, err := s.event("Wait", v)
	if err != nil {
		return err
	}
	m, err := e.current()
	if err != nil || m == nil {
		return err
	}
	return s.issue("Wait", func() error { <-m.done; return nil })
}

// event checks the event of a call.
func (s *Stream) event(call string, v driver.Event) (*event, error) {
	if err := s.c.enter(call); err != nil {
		return nil, err
	}
	e, ok := v.(*event)
	if !ok || e.c != s.c {
		return nil, failed(call, driver.CodeInvalidHandle, "the event is of another context")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capturing {
		return nil, failed(call, driver.CodeCaptureUnsafe, "a graph is being captured")
	}
	_, err := e.current()
	return e, err
}

// Synchronize waits for the work that the event stands for.
func (e *event) Synchronize() error {
	if err := e.c.enter("SynchronizeEvent"); err != nil {
		return err
	}
	m, err := e.current()
	if err != nil || m == nil {
		return err
	}
	<-m.done
	return e.c.lostError()
}

// Since measures between two events that are done.
func (e *event) Since(earlier driver.Event) (time.Duration, error) {
	if err := e.c.enter("Since"); err != nil {
		return 0, err
	}
	f, ok := earlier.(*event)
	if !ok || f.c != e.c || !e.timing || !f.timing {
		return 0, failed("Since", driver.CodeInvalidHandle, "expected two events with timing of one context")
	}
	to, err := e.current()
	if err != nil {
		return 0, err
	}
	from, err := f.current()
	if err != nil {
		return 0, err
	}
	if to == nil || from == nil {
		return 0, failed("Since", driver.CodeInvalidHandle, "an event was not recorded")
	}
	for _, m := range []*mark{to, from} {
		select {
		case <-m.done:
		default:
			return 0, failed("Since", driver.CodeNotReady, "an event is not done")
		}
	}
	return to.at.Sub(from.at), nil
}

// Close closes the event.
func (e *event) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return failed("CloseEvent", driver.CodeInvalidHandle, "closed before")
	}
	e.closed = true
	e.c.count("event", -1)
	return nil
}
