package eager

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// Variable is a tensor that nodes read and assign. Implementations are safe for
// concurrent use.
type Variable interface {
	// Load returns the current value, which never changes, or an error that
	// wraps ErrUninitialized.
	Load() (*tensor.Tensor, error)
	// Update replaces the value by f of the current one (nil: there is none).
	Update(f func(old *tensor.Tensor) (*tensor.Tensor, error)) error
}

// hostVariable is the Variable of a Resources without another one bound.
type hostVariable struct {
	name  string
	order uint64 // the order in which several are locked

	mu     sync.RWMutex
	t      *tensor.Tensor
	shared atomic.Bool // t may have another user
}

// variables counts host variables, to order them.
var variables atomic.Uint64

func newHostVariable(name string) *hostVariable {
	return &hostVariable{name: name, order: variables.Add(1)}
}

// uninitialized is the error for a variable without a value, with TensorFlow's text.
func (v *hostVariable) uninitialized() error {
	return fmt.Errorf("Attempting to use uninitialized value %s: the variable is %w", v.name, ErrUninitialized)
}

func (v *hostVariable) Load() (*tensor.Tensor, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.t == nil {
		return nil, v.uninitialized()
	}
	v.shared.Store(true)
	return v.t, nil
}

func (v *hostVariable) Update(f func(*tensor.Tensor) (*tensor.Tensor, error)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	t, err := f(v.t)
	if err == nil {
		v.t = t
		v.shared.Store(true)
	}
	return err
}

// fork returns a variable with the same value.
func (v *hostVariable) fork() *hostVariable {
	v.mu.RLock()
	defer v.mu.RUnlock()
	f := newHostVariable(v.name)
	f.t = v.t
	v.shared.Store(true)
	f.shared.Store(true)
	return f
}

// Resources holds the variables, tables, tree models, queues and iterators of one session, by container and name.
// It is safe for concurrent use.
type Resources struct {
	mu      sync.RWMutex
	vars    map[string]Variable
	tabs    map[string]*Table
	trees   map[string]treeResource
	shared  map[sharedKey]shared
	unnamed int         // number of shared ones without a shared name so far
	room    *queue.Room // for values waiting in queues
	things  lastingThings
}

// Bound limits queued elements and the elements that iterators keep to most bytes each. 0 keeps the limits. Call it before first use.
func (r *Resources) Bound(most int64) *Resources {
	if most > 0 {
		r.room, r.things.room = queue.NewRoom(min(most, maxQueued)), dataset.NewRoom(min(most, roomOfInputs))
	}
	return r
}

// NewResources returns an empty set.
func NewResources() *Resources {
	return &Resources{vars: map[string]Variable{}, tabs: map[string]*Table{}, trees: map[string]treeResource{}, shared: map[sharedKey]shared{}, room: queue.NewRoom(maxQueued), things: newLastingThings()}
}

// Isolated returns an empty set whose queues and iterators share r's limits on memory.
func (r *Resources) Isolated() *Resources {
	own := NewResources()
	own.room, own.things.room = r.room, r.things.room
	return own
}

// ResourceKey returns the key of a resource in a container; most resources have none.
func ResourceKey(container, name string) string {
	if container == "" {
		return name
	}
	return container + "\x00" + name
}

func containerOf(key string) string {
	container, _, found := strings.Cut(key, "\x00")
	if !found {
		return ""
	}
	return container
}

// Fork returns a set with the same variables, tables and tree models, whose changes r does not see. It has no queues or other
// things that steps share.
func (r *Resources) Fork() *Resources {
	f := NewResources()
	r.mu.RLock()
	defer r.mu.RUnlock()
	for name, v := range r.vars {
		f.vars[name] = v
		if h, ok := v.(*hostVariable); ok {
			f.vars[name] = h.fork()
		}
	}
	for name, t := range r.tabs {
		f.tabs[name] = t.fork()
	}
	for name, m := range r.trees {
		f.trees[name] = m.fork()
	}
	return f
}

// Bind makes v the variable of that name: the ResourceKey of its VarHandleOp's shared_name, or of the node's
// name if that is empty.
func (r *Resources) Bind(name string, v Variable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.vars[name] = v
}

// Keep drops the variables whose names keep returns false for.
func (r *Resources) Keep(keep func(name string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.vars, func(name string, _ Variable) bool { return !keep(name) })
}

// Variable returns the variable of that name; if there is none, it makes one without a value.
func (r *Resources) Variable(name string) Variable {
	r.mu.RLock()
	v := r.vars[name]
	r.mu.RUnlock()
	if v != nil {
		return v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v = r.vars[name]; v == nil {
		v = newHostVariable(name)
		r.vars[name] = v
	}
	return v
}

// table returns the table with the name, made by make if there is none.
func (r *Resources) table(name string, make func() *Table) *Table {
	r.mu.RLock()
	t := r.tabs[name]
	r.mu.RUnlock()
	if t != nil {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.tabs[name]; t == nil {
		t = make()
		r.tabs[name] = t
	}
	return t
}

// Clear drops everything in the containers, or in the default container if none are given.
func (r *Resources) Clear(containers ...string) {
	if len(containers) == 0 {
		containers = []string{""}
	}
	for _, c := range containers {
		r.mu.Lock()
		maps.DeleteFunc(r.vars, func(key string, _ Variable) bool { return containerOf(key) == c })
		maps.DeleteFunc(r.tabs, func(key string, _ *Table) bool { return containerOf(key) == c })
		maps.DeleteFunc(r.trees, func(key string, _ treeResource) bool { return containerOf(key) == c })
		ended := r.things.end(func(key queueKey) bool { return key.container == c })
		r.mu.Unlock()
		closeAll(ended)
		r.discard(func(k sharedKey) bool { return k.container == c })
	}
}

// load returns the value of a variable.
func load(v Value) (*tensor.Tensor, error) {
	variable, ok := v.Resource.(Variable)
	if !ok {
		return nil, fmt.Errorf("expected a variable, got %T", v.Resource)
	}
	return variable.Load()
}
