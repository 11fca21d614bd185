package dataset

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// Shards is a pass that several readers share. Element i goes to shard i modulo the number of shards, even if another shard asks first.
// It can be restarted, also over another dataset. It is safe for concurrent use. A Shards that becomes unreachable without Close is
// closed by the garbage collector.
type Shards struct {
	all *shards
}

// shards is what a Shards holds.
type shards struct {
	n int

	mu     sync.Mutex
	begun  int64  // passes
	now    *dealt // nil: there is no dataset yet
	closed bool
}

// NewShards returns n shards without a dataset.
func NewShards(n int) *Shards {
	all := &shards{n: n}
	s := &Shards{all}
	runtime.AddCleanup(s, func(all *shards) { go all.close() }, all)
	return s
}

// Begin begins a pass over a dataset and returns its number. An earlier pass ends, and calls that wait in it get ErrClosed.
// most limits how many elements may wait for one shard while another shard's are made; if it is negative, only memory does.
func (s *Shards) Begin(ctx context.Context, d Dataset, p *Pass, most int64) (int64, error) {
	defer runtime.KeepAlive(s)
	in := NewHandle()
	if err := in.Set(ctx, d, p); err != nil {
		in.Close()
		return 0, err
	}
	a := s.all
	next := &dealt{in: in, room: p.Room, most: most, waiting: make([][]made, a.n), asking: make([]int64, a.n), changed: make(chan struct{})}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		in.Close()
		return 0, ErrClosed
	}
	old := a.now
	a.begun++
	a.now = next
	begun := a.begun
	a.mu.Unlock()
	if old != nil {
		old.close()
	}
	return begun, nil
}

// Next returns the next element of a shard, or io.EOF after the last one. pass is the number that Begin returned. Next waits while the
// buffer of another shard, whose elements come first, is full.
func (s *Shards) Next(ctx context.Context, shard int, pass int64) (Element, error) {
	defer runtime.KeepAlive(s)
	a := s.all
	if shard < 0 || shard >= a.n {
		return nil, fmt.Errorf("shard_num %d: expected 0 to %d", shard, a.n-1)
	}
	a.mu.Lock()
	now, begun, closed := a.now, a.begun, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case now == nil:
		return nil, ErrUnset
	case pass != begun:
		return nil, fmt.Errorf("Invalid incarnation id. Provided: %d; Expected: %d", pass, begun)
	}
	return now.next(ctx, shard)
}

// Close ends the pass, and the calls that are in progress.
func (s *Shards) Close() { s.all.close() }

func (a *shards) close() {
	a.mu.Lock()
	a.closed = true
	now := a.now
	a.now = nil
	a.mu.Unlock()
	if now != nil {
		now.close()
	}
}

// dealt is a pass whose elements are dealt to shards in turn. A call makes elements until there is one for its shard; nothing
// runs in the background.
type dealt struct {
	in   *Handle
	room *Room
	most int64

	mu      sync.Mutex
	waiting [][]made // elements of each shard
	asking  []int64  // pending calls of each shard
	turn    int      // the shard of the next element
	busy    bool     // a call makes the next element
	short   bool     // an element waits for which there is no room
	ended   bool
	closed  bool
	changed chan struct{} // closed and replaced when a field above changes
}

func (d *dealt) next(ctx context.Context, shard int) (Element, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking[shard]++
	defer func() { d.asking[shard]-- }()
	for {
		switch {
		case d.closed:
			return nil, ErrClosed
		case len(d.waiting[shard]) > 0:
			m := d.take(shard)
			return m.e, m.err
		case d.ended:
			return nil, io.EOF
		}
		var err error
		if d.mayMake() {
			err = d.make(ctx)
		} else {
			err = d.wait(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// mayMake reports whether no call makes the next element yet, and its shard has room for it. The mutex is held.
func (d *dealt) mayMake() bool {
	beside := int64(len(d.waiting[d.turn])) - d.asking[d.turn]
	return !d.busy && !d.short && (d.most < 0 || beside < d.most)
}

// make makes the next element. It fails if ctx ends. The mutex is held, but not while the element is made.
func (d *dealt) make(ctx context.Context) error {
	d.busy = true
	d.mu.Unlock()
	e, err := guard(ctx, d.in.Next)
	d.mu.Lock()
	d.busy = false
	defer d.wake()
	switch {
	case d.closed:
		return ErrClosed
	case err == io.EOF:
		d.ended = true
	case err != nil && ctx.Err() != nil:
		return err
	default:
		m := made{e: e, err: err}
		if n := e.bytes(); d.room.take(n) == nil {
			m.held = n
		} else { // it waits, and no more are made before it is taken
			d.short = true
		}
		d.waiting[d.turn] = append(d.waiting[d.turn], m)
		d.turn = (d.turn + 1) % len(d.waiting)
	}
	return nil
}

// take removes a shard's first element. The mutex is held.
func (d *dealt) take(shard int) made {
	all := d.waiting[shard]
	m := all[0]
	all[0] = made{}
	d.waiting[shard] = all[1:]
	d.room.give(m.held)
	d.short = d.short && m.held > 0
	d.wake()
	return m
}

// wait waits for a change. The mutex is held, but not while it waits.
func (d *dealt) wait(ctx context.Context) error {
	changed := d.changed
	d.mu.Unlock()
	defer d.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake makes all waiting calls check again. The mutex is held.
func (d *dealt) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *dealt) close() {
	d.mu.Lock()
	d.closed = true
	for _, all := range d.waiting {
		for _, m := range all {
			d.room.give(m.held)
		}
	}
	clear(d.waiting)
	d.wake()
	d.mu.Unlock()
	d.in.Close()
}
