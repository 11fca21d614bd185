package feature

import (
	"errors"
	"sync"
)

// memo caches, by key, values that several columns of a batch need: the first column
// that needs a value computes it. Values stay from batch to batch, so that their memory can
// be reused.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	mu    sync.Mutex
	turn  uint64 // the batch of value and err
	value V
	err   error
}

var errPanicked = errors.New("computing it panicked")

// get returns what f computes for a key in this turn. f gets the value of an
// earlier turn, whose memory it may reuse.
func (m *memo[K, V]) get(turn uint64, key K, f func(old V) (V, error)) (V, error) {
	e := m.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn != turn {
		e.turn, e.err = turn, errPanicked
		v, err := f(e.value)
		if err == nil { // an incomplete value may share memory with others
			e.value = v
		}
		e.err = err
	}
	if e.err != nil {
		var none V
		return none, e.err
	}
	return e.value, nil
}

func (m *memo[K, V]) entry(key K) *entry[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil {
		if m.entries == nil {
			m.entries = map[K]*entry[V]{}
		}
		e = &entry[V]{}
		m.entries[key] = e
	}
	return e
}

// sized returns n values, using old's memory if it is large enough. They are not cleared.
func sized[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	return old[:n]
}
