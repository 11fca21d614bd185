package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Limits bound a staging area.
type Limits struct {
	Elements int   // the maximum number of elements, 0 for any
	Bytes    int   // the maximum bytes of tensors, 0 for any
	Room     *Room // the memory for elements
}

// area is the common part of staging areas: limits, and calls that wait, which may be served in any order.
type area struct {
	limits Limits
	place
	bytes   int // of the elements
	waiting []*attempt
	gone    bool
}

// newArea sets up the serving of waiting calls.
func newArea(a *area, l Limits) {
	a.limits = l
	a.flush = func() {
		for moved := true; moved; {
			moved = false
			for _, one := range slices.Clone(a.waiting) {
				if p, err := one.try(); p == finished {
					a.waiting = slices.DeleteFunc(a.waiting, func(w *attempt) bool { return w == one })
					one.finish(err)
					moved = true
				}
			}
		}
	}
}

// do waits until try is finished.
func (a *area) do(ctx context.Context, try func() (progress, error)) error {
	return a.wait(ctx, &a.waiting, &attempt{try: func() (progress, error) {
		if a.gone {
			return finished, &Error{ErrCancelled, "the staging area is gone: its container was reset"}
		}
		return try()
	}})
}

// fits fails for an element that can never fit.
func (a *area) fits(e Element) error {
	if len(e) == 0 {
		return fmt.Errorf("staging area: expected at least one tensor, got none")
	}
	if n := e.content(); a.limits.Bytes > 0 && n > a.limits.Bytes {
		return &Error{ErrLimit, fmt.Sprintf("Attempted to insert tensors with combined size of '%d' bytes into Staging Area with a memory limit of '%d'.", n, a.limits.Bytes)}
	}
	return nil
}

// full reports whether an element must wait because of others.
func (a *area) full(e Element, elements int) bool {
	return a.limits.Bytes > 0 && a.bytes+e.content() > a.limits.Bytes || a.limits.Elements > 0 && elements >= a.limits.Elements
}

// take pays for incoming tensors. An element may come in parts.
func (a *area) take(e Element) error {
	if err := a.limits.Room.take("staging area", e.bytes()-elementBytes); err != nil {
		return err
	}
	a.bytes += e.content()
	return nil
}

// give gives back the memory of tensors.
func (a *area) give(e Element) {
	a.limits.Room.give(e.bytes() - elementBytes)
	a.bytes -= e.content()
}

// content returns the bytes of the tensors, as TensorFlow counts them.
func (e Element) content() (n int) {
	for _, t := range e {
		if t == nil {
			continue
		}
		n += len(t.Bytes)
		for _, s := range t.Strings {
			n += stringBytes + len(s)
		}
	}
	return n
}

// Staging is TensorFlow's staging area: a queue of elements of any kind that can be read without removal. It is safe for concurrent use.
type Staging struct {
	area
	elements []Element
}

// NewStaging returns an empty staging area.
func NewStaging(l Limits) *Staging {
	s := &Staging{}
	newArea(&s.area, l)
	return s
}

// Put adds an element, and waits while there is no room for it.
func (s *Staging) Put(ctx context.Context, e Element) error {
	if err := s.fits(e); err != nil {
		return err
	}
	return s.do(ctx, func() (progress, error) {
		if s.full(e, len(s.elements)) {
			return stuck, nil
		}
		err := s.take(e)
		if err == nil {
			s.elements = append(s.elements, e)
		}
		return finished, err
	})
}

// Get removes the first element, and waits for one.
func (s *Staging) Get(ctx context.Context) (e Element, err error) {
	err = s.do(ctx, func() (progress, error) {
		if len(s.elements) == 0 {
			return stuck, nil
		}
		e, s.elements = s.elements[0], s.elements[1:]
		s.give(e)
		return finished, nil
	})
	return e, err
}

// Peek waits for the element with an index and returns it; it stays in the area.
func (s *Staging) Peek(ctx context.Context, index int) (e Element, err error) {
	err = s.do(ctx, func() (progress, error) {
		if index >= len(s.elements) {
			return stuck, nil
		}
		e = s.elements[index]
		return finished, nil
	})
	return e, err
}

// Size returns the number of elements.
func (s *Staging) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.elements)
}

// Clear drops the elements.
func (s *Staging) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.elements {
		s.give(e)
	}
	s.elements = nil
	s.flush()
}

// Discard ends all waiting calls, and drops the elements. It is called when nobody can find the staging area any more.
func (s *Staging) Discard() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.Clear()
}

func isNil(t *tensor.Tensor) bool { return t == nil }
