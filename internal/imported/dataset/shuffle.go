package dataset

import (
	"context"
	"fmt"
	"io"
)

// Shuffle is the Dataset of n passes over the elements (endless ones if n is negative), each in random order: an element is drawn
// from the next size elements of the pass. Size Unknown means all elements.
func Shuffle(in Dataset, size int64, s *Seeds, n int64) (Dataset, error) {
	if size <= 0 && size != Unknown {
		return nil, fmt.Errorf("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
	}
	return &shuffle{in, size, s, n}, nil
}

type shuffle struct {
	in   Dataset
	size int64
	s    *Seeds
	n    int64
}

func (s *shuffle) Cardinality() int64 { return Repeat(s.in, s.n).Cardinality() }

func (s *shuffle) Iterator(p *Pass) (Iterator, error) {
	it := &shuffling{shuffle: s, p: p}
	it.r = newPhilox(s.s.next())
	return it, nil
}

// maxEpochs bounds the number of passes over the input that have elements in the buffer.
const maxEpochs = 3

// shuffling keeps the elements of each pass over its input in a slice. It draws from the oldest pass.
type shuffling struct {
	*shuffle
	p      *Pass
	r      *philox
	in     Iterator
	begun  int64       // number of passes over the input
	epochs [][]Element // the kept elements of each pass
	kept   int64       // number of kept elements
	any    bool        // an element came in some pass
}

// full reports whether the buffer is full, or cannot grow further.
func (s *shuffling) full() bool {
	if s.in == nil && s.n >= 0 && s.begun >= s.n {
		return true
	}
	if len(s.epochs) > maxEpochs && s.kept > 0 {
		return true
	}
	return s.size != Unknown && s.kept >= s.size
}

func (s *shuffling) fill(ctx context.Context) (err error) {
	for !s.full() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.in == nil {
			if s.in, err = s.p.begin(s.shuffle.in); err != nil {
				return err
			}
			s.begun++
			s.epochs = append(s.epochs, nil)
		}
		e, err := s.in.Next(ctx)
		if err == io.EOF {
			s.in.Close()
			s.in = nil
			if last := len(s.epochs) - 1; last > 0 && len(s.epochs[last]) == 0 {
				s.epochs = s.epochs[:last]
			}
			if !s.any && s.n < 0 { // else it would never end
				return nil
			}
			if s.size == Unknown && s.kept > 0 {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := s.p.Room.take(e.bytes()); err != nil {
			return err
		}
		s.any = true
		last := len(s.epochs) - 1
		s.epochs[last] = append(s.epochs[last], e)
		s.kept++
	}
	return nil
}

func (s *shuffling) Next(ctx context.Context) (Element, error) {
	if err := s.fill(ctx); err != nil {
		return nil, err
	}
	if s.kept == 0 {
		return nil, io.EOF
	}
	for len(s.epochs[0]) == 0 {
		s.epochs = s.epochs[1:]
		s.r = newPhilox(s.s.next())
	}
	from := s.epochs[0]
	i := int64(s.r.next()) % int64(len(from))
	e := from[i]
	from[i], from[0] = from[0], nil
	s.epochs[0] = from[1:]
	s.kept--
	s.p.Room.give(e.bytes())
	return e, nil
}

func (s *shuffling) Close() {
	if s.in != nil {
		s.in.Close()
	}
	for _, epoch := range s.epochs {
		for _, e := range epoch {
			s.p.Room.give(e.bytes())
		}
	}
	s.epochs, s.kept = nil, 0
}
