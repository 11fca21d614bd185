package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	// ErrUnknown is wrapped by the error for a name that is not registered.
	ErrUnknown = errors.New("unknown name")
	// ErrDuplicate is wrapped by the error for a name that is registered twice.
	ErrDuplicate = errors.New("name registered twice")
)

// Registry holds the things of one kind by name. It is safe for concurrent use.
type Registry[V any] struct {
	kind    string
	mu      sync.RWMutex
	entries map[string]V
}

// New returns a registry for a kind of thing, such as "optimizer", with its first
// entries.
func New[V any](kind string, entries map[string]V) *Registry[V] {
	r := &Registry[V]{kind: kind, entries: maps.Clone(entries)}
	if r.entries == nil {
		r.entries = map[string]V{}
	}
	return r
}

// Register adds a thing under a new name.
func (r *Registry[V]) Register(name string, v V) error {
	if name == "" {
		return fmt.Errorf("register %s: expected a name", r.kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.entries[name]; taken {
		return &nameError{fmt.Sprintf("%s %q is registered already: choose another name", r.kind, name), ErrDuplicate}
	}
	r.entries[name] = v
	return nil
}

// Lookup returns the thing with that name; the error for an unknown name lists the known ones.
func (r *Registry[V]) Lookup(name string) (V, error) {
	r.mu.RLock()
	v, ok := r.entries[name]
	r.mu.RUnlock()
	if !ok {
		return v, &nameError{fmt.Sprintf("unknown %s %q: expected one of %s", r.kind, name, strings.Join(r.Names(), ", ")), ErrUnknown}
	}
	return v, nil
}

// Has reports whether a name is registered.
func (r *Registry[V]) Has(name string) bool {
	_, err := r.Lookup(name)
	return err == nil
}

// Names returns the registered names, sorted.
func (r *Registry[V]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.entries))
}

// nameError is an error with a text of its own.
type nameError struct {
	text string
	kind error
}

func (e *nameError) Error() string { return e.text }
func (e *nameError) Unwrap() error { return e.kind }
