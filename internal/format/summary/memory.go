package summary

import (
	"sync"

	"google.golang.org/protobuf/proto"
)

// Memory is a Writer that keeps the events, for tests. The zero value is ready.
type Memory struct {
	mu     sync.Mutex
	events []*Event
	closed bool
}

// Scalar implements Writer.
func (m *Memory) Scalar(step int64, tag string, value float64) error {
	return m.Values(step, Scalar(tag, value))
}

// Values implements Writer.
func (m *Memory) Values(step int64, values ...*Value) error { return m.Add(valuesEvent(step, values)) }

// Add implements Writer. It does not set the wall time.
func (m *Memory) Add(e *Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.events = append(m.events, proto.Clone(e).(*Event))
	return nil
}

// Flush implements Writer.
func (m *Memory) Flush() error { return nil }

// Close implements Writer.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// Events returns the added events.
func (m *Memory) Events() []*Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*Event(nil), m.events...)
}

// Scalars returns the added scalars.
func (m *Memory) Scalars() Scalars {
	s := Scalars{}
	for _, e := range m.Events() {
		s.add(e)
	}
	return s
}
