package rendezvous

import (
	"context"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// Item is a sent item: a tensor, or the message that there is none because the sender's branch was not taken.
type Item struct {
	Tensor *tensor.Tensor
	Dead   bool
}

// Table is the rendezvous of one step in one task. It is safe for concurrent use.
type Table struct {
	mu    sync.Mutex
	err   error
	slots map[string]*slot
	ended chan struct{} // closed by Abort
}

// slot is a key with its sent items, or its receivers. Items of one key are received in the order in which they were sent.
type slot struct {
	items   []Item
	waiting []chan Item
}

// New returns an empty Table.
func New() *Table {
	return &Table{slots: map[string]*slot{}, ended: make(chan struct{})}
}

// Send passes an item to a waiting receiver, or keeps it. It returns an error after Abort.
func (t *Table) Send(key string, item Item) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	s := t.slot(key)
	if len(s.waiting) > 0 {
		s.waiting[0] <- item // has room for one
		s.waiting = s.waiting[1:]
		t.drop(key, s)
		return nil
	}
	s.items = append(s.items, item)
	return nil
}

// Recv waits for an item under the key. It ends with ctx, and with the error of Abort.
func (t *Table) Recv(ctx context.Context, key string) (Item, error) {
	item, wait, err := t.take(key)
	if wait == nil {
		return item, err
	}
	select {
	case item := <-wait:
		return item, nil
	case <-t.ended:
		err = t.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return t.leave(key, wait, err)
}

// take returns an available item, or a channel on which it will arrive.
func (t *Table) take(key string) (Item, chan Item, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return Item{}, nil, t.err
	}
	s := t.slot(key)
	if len(s.items) > 0 {
		item := s.items[0]
		s.items = s.items[1:]
		t.drop(key, s)
		return item, nil, nil
	}
	wait := make(chan Item, 1)
	s.waiting = append(s.waiting, wait)
	return Item{}, wait, nil
}

// leave ends waiting. An item that has arrived meanwhile is returned, since no one else would get it.
func (t *Table) leave(key string, wait chan Item, err error) (Item, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case item := <-wait:
		return item, nil
	default:
	}
	if s := t.slots[key]; s != nil {
		for i, w := range s.waiting {
			if w == wait {
				s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
				break
			}
		}
		t.drop(key, s)
	}
	return Item{}, err
}

func (t *Table) slot(key string) *slot {
	s := t.slots[key]
	if s == nil {
		s = &slot{}
		t.slots[key] = s
	}
	return s
}

// drop removes an empty slot.
func (t *Table) drop(key string, s *slot) {
	if len(s.items) == 0 && len(s.waiting) == 0 {
		delete(t.slots, key)
	}
}

// Abort ends all waiting, now and later, with err. The first error counts.
func (t *Table) Abort(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	t.err = err
	t.slots = map[string]*slot{}
	close(t.ended)
}
