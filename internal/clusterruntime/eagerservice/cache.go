package eagerservice

import (
	"container/list"
	"context"
	"sync"
)

// cache keeps results by key as long as they are used often. The zero value is empty. It is safe for concurrent use.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	recent  list.List // of *entry[T], the newest first
}

// maxCached bounds the entries of a cache.
const maxCached = 1 << 11

type entry[T any] struct {
	key   string
	ready chan struct{}
	value T
	err   error
}

// get returns the entry, or else the result of produce, which runs once for all concurrent callers. An error is not kept, and is returned only to
// the caller whose produce failed: it began before the others asked, maybe before its inputs existed, or its caller is gone.
func (c *cache[T]) get(ctx context.Context, key string, produce func() (T, error)) (T, error) {
	c.mu.Lock()
	if at, ok := c.entries[key]; ok {
		c.recent.MoveToFront(at)
		e := at.Value.(*entry[T])
		c.mu.Unlock()
		select {
		case <-e.ready:
			if e.err != nil {
				return produce()
			}
			return e.value, nil
		case <-ctx.Done():
			return e.value, context.Cause(ctx)
		}
	}
	e := &entry[T]{key: key, ready: make(chan struct{})}
	if c.entries == nil {
		c.entries = map[string]*list.Element{}
	}
	at := c.recent.PushFront(e)
	c.entries[key] = at
	if len(c.entries) > maxCached {
		c.remove(c.recent.Back())
	}
	c.mu.Unlock()
	e.value, e.err = produce()
	if e.err != nil {
		c.mu.Lock()
		if c.entries[key] == at {
			c.remove(at)
		}
		c.mu.Unlock()
	}
	close(e.ready)
	return e.value, e.err
}

// forget removes matching entries, and those that are being made.
func (c *cache[T]) forget(matches func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.entries {
		e := at.Value.(*entry[T])
		select {
		case <-e.ready:
			if e.err != nil || !matches(e.value) {
				continue
			}
		default:
		}
		c.remove(at)
	}
}

// remove removes an entry. The mutex is held.
func (c *cache[T]) remove(at *list.Element) {
	delete(c.entries, at.Value.(*entry[T]).key)
	c.recent.Remove(at)
}

// clear removes all entries.
func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
	c.recent.Init()
}
