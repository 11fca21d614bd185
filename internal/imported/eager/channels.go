package eager

import "fmt"

// channels is a tensor as [before, n, after]: the elements of a channel share a range of quantization.
type channels struct{ before, n, after int }

// slicesAlong returns the channels along an axis; -1: all elements are of one.
func slicesAlong(shape []int, axis int) (channels, error) {
	switch {
	case axis < -1 || axis >= len(shape):
		return channels{}, fmt.Errorf("axis must be in [-1, %d), got %d", len(shape), axis)
	case axis == -1:
		return channels{1, 1, product(shape)}, nil
	}
	return channels{product(shape[:axis]), shape[axis], product(shape[axis+1:])}, nil
}

// spans calls f with the elements of channel i, which lie in spans [from, to).
func (c channels) spans(i int, f func(from, to int)) {
	for k := range c.before {
		from := (k*c.n + i) * c.after
		f(from, from+c.after)
	}
}
