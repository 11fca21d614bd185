package queue

// store has the elements of a queue in the order in which they are taken.
type store interface {
	len() int
	push(e Element)
	pop() Element
	putBack(taken []Element) // the elements that pop returned, in that order
}

// newStore returns the store of a kind of queue.
func newStore(s Spec) store {
	switch s.Kind {
	case Shuffle:
		return &shuffled{draw: s.Draw}
	case Priority:
		return &heap{}
	}
	return &fifo{}
}

// fifo pops the element that came first.
type fifo struct{ elements []Element }

func (f *fifo) len() int { return len(f.elements) }

func (f *fifo) push(e Element) { f.elements = append(f.elements, e) }

func (f *fifo) pop() Element {
	e := f.elements[0]
	f.elements[0] = nil
	f.elements = f.elements[1:]
	return e
}

func (f *fifo) putBack(taken []Element) {
	f.elements = append(append(make([]Element, 0, len(taken)+len(f.elements)), taken...), f.elements...)
}

// shuffled pops any element, chosen by TensorFlow's random numbers.
type shuffled struct {
	elements []Element
	draw     func() uint32
}

func (s *shuffled) len() int { return len(s.elements) }

func (s *shuffled) push(e Element) { s.elements = append(s.elements, e) }

// pop moves the last element to the place of the popped one.
func (s *shuffled) pop() Element {
	i, last := int(uint64(s.draw())%uint64(len(s.elements))), len(s.elements)-1
	e := s.elements[i]
	s.elements[i], s.elements[last] = s.elements[last], nil
	s.elements = s.elements[:last]
	return e
}

func (s *shuffled) putBack(taken []Element) {
	for i := len(taken) - 1; i >= 0; i-- {
		s.elements = append(s.elements, taken[i])
	}
}
