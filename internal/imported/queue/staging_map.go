package queue

import (
	minheap "container/heap"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// StagingMap is TensorFlow's staging area of elements by key. An element's tensors may come and go one by one. It is safe for concurrent use.
type StagingMap struct {
	area
	width      int // tensors per element
	incomplete map[int64]Element
	elements   map[int64]Element
	order      keyHeap // the keys of elements, and some that have been removed
}

// keyHeap has the smallest key first.
type keyHeap []int64

// Len implements heap.Interface, with the methods after it.
func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(key any)      { *h = append(*h, key.(int64)) }
func (h *keyHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// NewStagingMap returns an empty staging area for elements of width tensors.
func NewStagingMap(width int, l Limits) *StagingMap {
	m := &StagingMap{width: width, incomplete: map[int64]Element{}, elements: map[int64]Element{}}
	newArea(&m.area, l)
	return m
}

// entry is the memory of a key besides its tensors.
func (m *StagingMap) entry() int { return elementBytes + 8*m.width + orderBytes }

// orderBytes is the memory of a key in order: half of the keys may have been removed, and arrays grow to twice their contents.
const orderBytes = 4 * 8

// begin pays for a new key and its tensors.
func (m *StagingMap) begin(e Element) error {
	if err := m.limits.Room.take("staging area", m.entry()); err != nil {
		return err
	}
	err := m.take(e)
	if err != nil {
		m.limits.Room.give(m.entry())
	}
	return err
}

// end gives back the memory of a key and its remaining tensors.
func (m *StagingMap) end(e Element) {
	m.limits.Room.give(m.entry())
	m.give(slices.DeleteFunc(e, isNil))
}

// ordered fails for indices that are not ascending.
func ordered(indices []int) error {
	for i := 1; i < len(indices); i++ {
		if indices[i-1] >= indices[i] {
			return fmt.Errorf("Indices are not strictly ordered")
		}
	}
	return nil
}

// index fails for an index that elements do not have.
func (m *StagingMap) index(key int64, i int) error {
	if i < 0 || i >= m.width {
		return fmt.Errorf("Index '%d' for key '%d' was out of bounds '%d'.", uint64(i), key, m.width)
	}
	return nil
}

// Put adds the tensors of an element that have the given indices, and waits while there is no room for them.
func (m *StagingMap) Put(ctx context.Context, key int64, indices []int, e Element) error {
	if err := ordered(indices); err != nil {
		return err
	}
	if len(indices) != len(e) {
		return fmt.Errorf("expected as many tensors as indices, %d, got %d", len(indices), len(e))
	}
	for _, i := range indices {
		if err := m.index(key, i); err != nil {
			return err
		}
	}
	if err := m.fits(e); err != nil {
		return err
	}
	return m.do(ctx, func() (progress, error) {
		whole := len(indices) == m.width
		if whole && m.full(e, len(m.elements)) || !whole && m.full(e, -1) {
			return stuck, nil
		}
		if whole {
			return finished, m.complete(key, e)
		}
		return finished, m.part(key, indices, e)
	})
}

// complete adds a complete element, unless the key exists.
func (m *StagingMap) complete(key int64, e Element) error {
	if m.elements[key] != nil {
		return nil
	}
	err := m.begin(e)
	if err == nil {
		m.add(key, slices.Clone(e))
	}
	return err
}

// add adds a complete element.
func (m *StagingMap) add(key int64, e Element) {
	m.elements[key] = e
	minheap.Push(&m.order, key)
	if len(m.order) > 2*len(m.elements) { // most have been removed
		m.order = slices.AppendSeq(m.order[:0], maps.Keys(m.elements))
		minheap.Init(&m.order)
	}
}

// first returns the smallest key. There must be one.
func (m *StagingMap) first() int64 {
	for m.elements[m.order[0]] == nil {
		minheap.Pop(&m.order)
	}
	return m.order[0]
}

// part adds tensors of an element.
func (m *StagingMap) part(key int64, indices []int, e Element) error {
	has := m.incomplete[key]
	for _, i := range indices {
		if has != nil && has[i] != nil {
			return fmt.Errorf("The tensor for index '%d' for key '%d' was already initialized '%d'.", i, key, m.width)
		}
	}
	pay := m.take
	if has == nil {
		pay = m.begin
	}
	if err := pay(e); err != nil {
		return err
	}
	if has == nil {
		has = make(Element, m.width)
		m.incomplete[key] = has
	}
	for k, i := range indices {
		has[i] = e[k]
	}
	if slices.Contains(has, nil) {
		return nil
	}
	delete(m.incomplete, key)
	if m.elements[key] != nil {
		m.end(has)
		return nil
	}
	m.add(key, has)
	return nil
}

// Get waits for an element and returns its tensors with the given indices. It removes them unless stay is set.
func (m *StagingMap) Get(ctx context.Context, key int64, indices []int, stay bool) (got Element, err error) {
	if err := ordered(indices); err != nil {
		return nil, err
	}
	err = m.do(ctx, func() (_ progress, err error) {
		if m.elements[key] == nil {
			return stuck, nil
		}
		got, err = m.tensors(key, indices, stay)
		return finished, err
	})
	return got, err
}

// First waits for an element, and removes the tensors with the given indices from the one with the smallest key.
func (m *StagingMap) First(ctx context.Context, indices []int) (key int64, got Element, err error) {
	if err := ordered(indices); err != nil {
		return 0, nil, err
	}
	err = m.do(ctx, func() (_ progress, err error) {
		if len(m.elements) == 0 {
			return stuck, nil
		}
		key = m.first()
		got, err = m.tensors(key, indices, false)
		return finished, err
	})
	return key, got, err
}

// tensors returns tensors of an element, which must have them.
func (m *StagingMap) tensors(key int64, indices []int, stay bool) (got Element, err error) {
	e := m.elements[key]
	for _, i := range indices {
		if err := m.index(key, i); err != nil {
			return nil, err
		}
		if e[i] == nil {
			return nil, fmt.Errorf("Tensor at index '%d' for key '%d' has already been removed.", i, key)
		}
		got = append(got, e[i])
	}
	if stay {
		return got, nil
	}
	for _, i := range indices {
		e[i] = nil
	}
	m.give(got)
	if !slices.ContainsFunc(e, func(t *tensor.Tensor) bool { return t != nil }) {
		delete(m.elements, key)
		m.end(nil)
	}
	return got, nil
}

// Size returns the number of complete elements.
func (m *StagingMap) Size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.elements)
}

// Incomplete returns the number of elements that miss a tensor.
func (m *StagingMap) Incomplete() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.incomplete)
}

// Clear drops the elements.
func (m *StagingMap) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, all := range []map[int64]Element{m.incomplete, m.elements} {
		for _, e := range all {
			m.end(e)
		}
		clear(all)
	}
	m.order = nil
	m.flush()
}

// Discard ends all waiting calls, and drops the elements. It is called when nobody can find the staging area any more.
func (m *StagingMap) Discard() {
	m.mu.Lock()
	m.gone = true
	m.mu.Unlock()
	m.Clear()
}
