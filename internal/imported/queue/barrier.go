package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// BarrierSpec says what a barrier holds.
type BarrierSpec struct {
	Types  []tensor.DType // types of the components of a value
	Shapes [][]int        // shapes of the components
	Room   *Room          // the memory for waiting values
}

// Same fails if the barrier of that name was made for other values.
func (s BarrierSpec) Same(name string, other BarrierSpec) error {
	const text = "Shared barrier '%s' has component %s %s but requested component %s were %s"
	switch {
	case !slices.Equal(s.Types, other.Types):
		return fmt.Errorf(text, name, "types", typesText(s.Types), "types", typesText(other.Types))
	case !slices.EqualFunc(s.Shapes, other.Shapes, slices.Equal[[]int]):
		return fmt.Errorf(text, name, "shapes", shapesText(s.Shapes), "shapes", shapesText(other.Shapes))
	}
	return nil
}

// Barrier collects the components of values by key, and returns values once they are complete: TensorFlow's barrier. It is safe
// for concurrent use.
type Barrier struct {
	name string
	spec BarrierSpec

	mu         sync.Mutex
	closed     bool
	cancelled  bool
	insertions int64              // the first is math.MinInt64
	incomplete map[string]Element // insertion number and components; nil if missing
	ready      *Queue             // elements: insertion number, key and components
}

// NewBarrier returns an empty barrier. The name is for error messages.
func NewBarrier(name string, s BarrierSpec) *Barrier {
	spec := Spec{Kind: Priority, Capacity: math.MaxInt32, Room: s.Room,
		Types: append([]tensor.DType{tensor.Int64, tensor.String}, s.Types...), Shapes: append([][]int{{}, {}}, s.Shapes...)}
	return &Barrier{name: name, spec: s, insertions: math.MinInt64, incomplete: map[string]Element{}, ready: New(name+"_queue", spec)}
}

// Name returns the name of the barrier.
func (b *Barrier) Name() string { return b.name }

// Spec returns what the barrier holds. The slices must not be changed.
func (b *Barrier) Spec() BarrierSpec { return b.spec }

// Taken describes what Take returns: the number of the insertion, the key, and the components.
func (b *Barrier) Taken() Spec { return b.ready.Spec() }

// Ready returns the number of values that have all components.
func (b *Barrier) Ready() int { return b.ready.Size() }

// Incomplete returns the number of values that miss a component.
func (b *Barrier) Incomplete() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.incomplete)
}

// Insert adds one component to the values of several keys. If a key fails, the keys before it stay inserted.
func (b *Barrier) Insert(ctx context.Context, component int, keys [][]byte, values []*tensor.Tensor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed && (b.cancelled || len(keys) > 0 && len(b.incomplete) == 0) {
		return &Error{ErrCancelled, fmt.Sprintf("Barrier %s is closed.  Pending enqueues cancelled: %d.  Number of new insertions: %d.  Number of incomplete keys: %d.",
			b.name, flag(b.cancelled), len(keys), len(b.incomplete))}
	}
	var complete []Element
	var failed error
	fresh := false
	for i, key := range keys {
		first, done, err := b.insert(component, i, string(key), values[i])
		fresh = fresh || first
		if failed = err; err != nil {
			break
		}
		if done != nil {
			complete = append(complete, done)
		}
	}
	if fresh {
		b.insertions++
	}
	// Enqueue never waits here: there is always room. A complete value must not be lost with the call that completed it.
	for i, done := range complete {
		if err := b.ready.Enqueue(context.WithoutCancel(ctx), done); err != nil {
			b.putBack(component, complete[i:])
			failed = cmp.Or(failed, err)
			break
		}
		b.give(keyOf(done), valueOf(done))
	}
	if b.closed && len(b.incomplete) == 0 {
		b.closeReady(ctx, false)
	}
	return failed
}

// insert adds a component to the value of one key. It reports whether it is the first one, and returns the value once it is complete.
func (b *Barrier) insert(component, i int, key string, value *tensor.Tensor) (first bool, complete Element, err error) {
	e := b.incomplete[key]
	if e == nil && b.closed {
		return false, nil, &Error{ErrCancelled, fmt.Sprintf("Barrier %s is closed, but attempted to insert a brand new key: %s.  Pending enqueues cancelled: %d.  Insertion index: %d.  Number of incomplete keys: %d.",
			b.name, key, flag(b.cancelled), i, len(b.incomplete))}
	}
	if e != nil && e[1+component] != nil {
		return false, nil, fmt.Errorf("Key %s already has a value for component %d in barrier %s", key, component, b.name)
	}
	need := Element{value}.bytes() + len(key)
	if e == nil {
		need += b.entry()
	}
	if err := b.spec.Room.take("barrier '"+b.name+"'", need); err != nil {
		return false, nil, err
	}
	if e == nil {
		first = true
		e = make(Element, 1+len(b.spec.Types))
		e[0] = tensor.Scalar(b.insertions)
		b.incomplete[key] = e
	}
	e[1+component] = value
	if slices.Contains(e, nil) {
		return first, nil, nil
	}
	delete(b.incomplete, key)
	text := tensor.New(tensor.String)
	text.Strings[0] = []byte(key)
	return first, slices.Insert(e, 1, text), nil
}

// putBack makes values incomplete again, since there is no memory for their last component.
func (b *Barrier) putBack(component int, complete []Element) {
	for _, done := range complete {
		key, e := keyOf(done), valueOf(done)
		if b.incomplete[key] != nil { // the key was inserted again, for another value
			b.give(key, e)
			continue
		}
		b.spec.Room.give(Element{e[1+component]}.bytes() + len(key))
		e[1+component] = nil
		if b.closed && b.cancelled || !slices.ContainsFunc(e[1:], func(t *tensor.Tensor) bool { return t != nil }) {
			b.spec.Room.give(b.entry())
			continue
		}
		b.incomplete[key] = e
	}
}

// keyOf and valueOf split a taken element: into the key, and the insertion number with the components.
func keyOf(done Element) string    { return string(done[1].Strings[0]) }
func valueOf(done Element) Element { return slices.Delete(slices.Clone(done), 1, 2) }

// entry is the memory of a key besides its components.
func (b *Barrier) entry() int { return 8 * (1 + len(b.spec.Types)) }

// give gives back the memory of a value.
func (b *Barrier) give(key string, e Element) {
	b.spec.Room.give(b.entry())
	for _, t := range e[1:] {
		if t != nil {
			b.spec.Room.give(Element{t}.bytes() + len(key))
		}
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Take removes n values, the first inserted first, and waits for them. From a closed barrier with fewer values it takes all if small
// is set.
func (b *Barrier) Take(ctx context.Context, n int, small bool) ([]Element, error) {
	b.mu.Lock()
	if b.closed {
		has := b.ready.Size()
		if small {
			n = min(n, has)
		} else {
			has += len(b.incomplete)
		}
		if has < max(n, 1) {
			b.mu.Unlock()
			return nil, &Error{ErrOutOfRange, fmt.Sprintf("Barrier '%s' is closed and has insufficient elements (requested %d, total size %d)", b.name, n, has)}
		}
	}
	b.mu.Unlock()
	return b.ready.Dequeue(ctx, n, small)
}

// Close closes the barrier: it accepts no new keys. If cancel is set, incomplete values are dropped.
func (b *Barrier) Close(ctx context.Context, cancel bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed && (b.cancelled || !cancel) {
		return &Error{ErrCancelled, fmt.Sprintf("Barrier '%s' is already closed.", b.name)}
	}
	b.closed, b.cancelled = true, cancel
	if cancel {
		b.forget()
	}
	if len(b.incomplete) == 0 {
		b.closeReady(ctx, cancel)
	}
	return nil
}

// closeReady ends calls that wait for more values than there will be. The mutex is held.
func (b *Barrier) closeReady(ctx context.Context, cancel bool) {
	_ = b.ready.Close(ctx, cancel) // it fails if the queue is closed already
}

// forget drops incomplete values. The mutex is held.
func (b *Barrier) forget() {
	for key, e := range b.incomplete {
		b.give(key, e)
	}
	clear(b.incomplete)
}

// Discard ends all waiting calls, and drops the values. It is called when nobody can find the barrier any more.
func (b *Barrier) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.cancelled = true, true
	b.forget()
	b.ready.Discard()
}
