package queue

import "github.com/goestimator/goestimator/tensor"

// heap pops an element whose first component is the smallest. Among equal ones it pops the one that TensorFlow would: it is the
// binary heap of GNU's C++ standard library, which container/heap is not.
type heap struct{ elements []ranked }

type ranked struct {
	priority int64
	element  Element
}

func (h *heap) len() int { return len(h.elements) }

func (h *heap) push(e Element) {
	h.elements = append(h.elements, ranked{tensor.Values[int64](e[0])[0], e})
	h.up(len(h.elements)-1, h.elements[len(h.elements)-1])
}

// up puts an element at index i, or moves it up above elements of higher priority values.
func (h *heap) up(i int, e ranked) {
	for i > 0 {
		above := (i - 1) / 2
		if h.elements[above].priority <= e.priority {
			break
		}
		h.elements[i] = h.elements[above]
		i = above
	}
	h.elements[i] = e
}

// pop fills the first place from below, down to a leaf, from which the last element then moves up.
func (h *heap) pop() Element {
	first, n := h.elements[0].element, len(h.elements)-1
	last := h.elements[n]
	h.elements[n] = ranked{}
	h.elements = h.elements[:n]
	if n == 0 {
		return first
	}
	i, below := 0, 0
	for below < (n-1)/2 {
		below = 2 * (below + 1)
		if h.elements[below].priority > h.elements[below-1].priority {
			below--
		}
		h.elements[i] = h.elements[below]
		i = below
	}
	if n%2 == 0 && below == (n-2)/2 {
		below = 2*below + 1
		h.elements[i] = h.elements[below]
		i = below
	}
	h.up(i, last)
	return first
}

func (h *heap) putBack(taken []Element) {
	for _, e := range taken {
		h.push(e)
	}
}
