package keyvalue

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// Options are the limits of a Store; zero fields mean the defaults.
type Options struct {
	Self       cluster.Peer  // the peer in whose name the Store's own methods ask
	MaxKeys    int           // number of values (4096)
	MaxValue   int           // bytes of one value (1 MiB)
	MaxBytes   int           // bytes of all values (32 MiB)
	MaxGathers int           // gathers and names of finished gathers (4096); generations: a sixteenth of that
	MaxMembers int           // tasks, and ranks of a gather (4096)
	LostAfter  time.Duration // a member without a heartbeat for this time is lost (10 s)
	Linger     time.Duration // how long a finished gather is kept (1 min)
	Lease      time.Duration // how soon a remote waiting rank must ask again (10 s)
}

func (o Options) withDefaults() Options {
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&o.MaxKeys, 4096)
	or(&o.MaxValue, 1<<20)
	or(&o.MaxBytes, 32<<20)
	or(&o.MaxGathers, 4096)
	or(&o.MaxMembers, 4096)
	for v, d := range map[*time.Duration]time.Duration{&o.LostAfter: 10 * time.Second, &o.Linger: time.Minute, &o.Lease: 10 * time.Second} {
		if *v <= 0 {
			*v = d
		}
	}
	return o
}

// Store is the key-value store in memory, on the leader. It is safe for concurrent use and has no goroutine
// of its own. Values passed in and out are shared: nobody may change their bytes.
type Store struct {
	view // asks as Options.Self
	o    Options
	id   uint64

	mu      sync.Mutex
	bytes   int // of all values
	values  map[string]*entry
	rounds  map[string]*round
	lines   map[string]*line
	over    []string // names of finished gathers, oldest first
	tasks   map[cluster.Task]*history
	members map[cluster.Task]*member
	swept   time.Time
}

// view is the Store as used by one peer.
type view struct {
	b    *Store
	peer cluster.Peer
}

// entry is a value that is set or will be set.
type entry struct {
	value   []byte
	set     chan struct{} // closed when set
	waiters int
}

func (e *entry) isSet() bool {
	select {
	case <-e.set:
		return true
	default:
		return false
	}
}

// NewStore returns an empty Store.
func NewStore(o Options) *Store {
	b := &Store{o: o.withDefaults(), values: map[string]*entry{}, rounds: map[string]*round{}, lines: map[string]*line{},
		tasks: map[cluster.Task]*history{}, members: map[cluster.Task]*member{}}
	for b.id == 0 {
		b.id = rand.Uint64()
	}
	b.values[stopKey] = &entry{set: make(chan struct{}), waiters: 1} // a stop must always be possible
	b.view = view{b, b.o.Self}
	return b
}

// As returns the Store for use by peer p: requests through it come from p.
func (b *Store) As(p cluster.Peer) interface {
	KeyValue
	Regrouper
	Pulse
} {
	return view{b, p}
}

// Set sets a value.
func (v view) Set(_ context.Context, key string, value []byte) error {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return err
	}
	e := b.values[key]
	if e == nil || !e.isSet() {
		if err := b.checkKey(key); err != nil {
			return err
		}
	}
	if err := b.reserve(value, e); err != nil {
		return fmt.Errorf("set %q: %w", clip(key), err)
	}
	if e != nil && !e.isSet() {
		e.value = bytes.Clone(value)
		close(e.set)
		return nil
	}
	e = &entry{value: bytes.Clone(value), set: make(chan struct{})}
	close(e.set)
	b.values[key] = e
	return nil
}

// reserve counts value, which replaces the value of old.
func (b *Store) reserve(value []byte, old *entry) error {
	freed := 0
	if old != nil {
		freed = len(old.value)
	}
	if len(value) > b.o.MaxValue {
		return fmt.Errorf("%w: a value of %d bytes, expected at most %d", ErrFull, len(value), b.o.MaxValue)
	}
	if b.bytes-freed+len(value) > b.o.MaxBytes {
		return fmt.Errorf("%w: %d bytes of values, expected at most %d", ErrFull, b.bytes-freed+len(value), b.o.MaxBytes)
	}
	b.bytes += len(value) - freed
	return nil
}

const maxName = 1024

// checkKey returns an error if there is no room for one more key.
func (b *Store) checkKey(key string) error {
	if key == "" || len(key) > maxName {
		return fmt.Errorf("%w: a name of %d bytes, expected 1 to %d", ErrInvalid, len(key), maxName)
	}
	if _, ok := b.values[key]; !ok && len(b.values) >= b.o.MaxKeys {
		return fmt.Errorf("%w: %q would be one more than %d values", ErrFull, clip(key), b.o.MaxKeys)
	}
	return nil
}

// clip shortens an untrusted name, for error texts.
func clip(name string) string {
	if len(name) > 80 {
		return name[:80] + "..."
	}
	return name
}

// Get returns a value and whether it was set.
func (v view) Get(_ context.Context, key string) ([]byte, bool, error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return nil, false, err
	}
	if e := b.values[key]; e != nil && e.isSet() {
		return e.value, true, nil
	}
	return nil, false, nil
}

// Wait returns a value as soon as it is set.
func (v view) Wait(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	value, ok, err := v.wait(ctx, key, 0)
	if err == nil && !ok {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("wait for %q: %w", clip(key), err)
	}
	return value, nil
}

// wait is Wait for at most patience, if that is positive; ok reports whether the value is set.
func (v view) wait(ctx context.Context, key string, patience time.Duration) (value []byte, ok bool, err error) {
	b := v.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(v.peer); err != nil {
		return nil, false, err
	}
	e := b.values[key]
	if e == nil {
		if err := b.checkKey(key); err != nil {
			return nil, false, err
		}
		e = &entry{set: make(chan struct{})}
		b.values[key] = e
	}
	e.waiters++
	b.mu.Unlock()
	err = pause(ctx, patience, e.set, nil)
	b.mu.Lock()
	if e.waiters--; e.waiters == 0 && !e.isSet() {
		delete(b.values, key)
	}
	if e.isSet() {
		return b.values[key].value, true, nil
	}
	return nil, false, err
}

// pause waits until one of the channels is closed, ctx ends (its error), or patience, if positive, is over.
func pause(ctx context.Context, patience time.Duration, done, gone <-chan struct{}) error {
	var over <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-done:
	case <-gone:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// bounded is ctx with a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultWait)
}
