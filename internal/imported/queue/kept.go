package queue

import (
	"fmt"
	"sync"
)

// Kept keeps elements under numbers that it assigns: TensorFlow's map of sparse tensors. It is safe for concurrent use.
type Kept struct {
	name string
	room *Room

	mu   sync.Mutex
	next int64
	all  map[int64]Element
	gone bool
}

// NewKept returns an empty Kept. The name is for error messages.
func NewKept(name string, room *Room) *Kept {
	return &Kept{name: name, room: room, all: map[int64]Element{}}
}

// Put stores an element and returns its number.
func (k *Kept) Put(e Element) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return 0, &Error{ErrCancelled, "the container of map " + k.name + " was reset"}
	}
	if err := k.room.take("map of sparse tensors "+k.name, e.bytes()); err != nil {
		return 0, err
	}
	n := k.next
	k.next++
	k.all[n] = e
	return n, nil
}

// Take removes the elements with the given numbers. If one is missing, the elements before it are gone.
func (k *Kept) Take(numbers []int64) (all []Element, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range numbers {
		e, ok := k.all[n]
		if !ok {
			return nil, fmt.Errorf("Unable to find SparseTensor: %d in map: %s", n, k.name)
		}
		delete(k.all, n)
		k.room.give(e.bytes())
		all = append(all, e)
	}
	return all, nil
}

// Discard drops the elements. It is called when nobody can find them any more.
func (k *Kept) Discard() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	for _, e := range k.all {
		k.room.give(e.bytes())
	}
	clear(k.all)
}
