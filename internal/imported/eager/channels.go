package eager

import "fmt"

// channels views a tensor as [before, n, after]: the elements of each channel share a quantization range.
type channels struct{ before, n, after int }

// slicesAlong returns the channels along an axis; -1 puts all elements into one.
func slicesAlong(shape []int, axis int) (channels, error) {
	switch {
	case axis < -1 || axis >= len(shape):
		return channels{}, fmt.Errorf("axis must be in [-1, %d), got %d", len(shape), axis)
	case axis == -1:
		return channels{1, 1, product(shape)}, nil
	}
	return channels{product(shape[:axis]), shape[axis], product(shape[axis+1:])}, nil
}

// spans calls f for each span [from, to) of elements of channel i.
func (c channels) spans(i int, f func(from, to int)) {
	for k := range c.before {
		from := (k*c.n + i) * c.after
		f(from, from+c.after)
	}
}
