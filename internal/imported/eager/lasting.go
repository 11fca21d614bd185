package eager

import (
	"fmt"
	"maps"
	"runtime"
	"weak"

	"github.com/goestimator/goestimator/internal/imported/dataset"
)

// lasting is a resource that outlives steps and has to be closed: iterators, readers and writers of files.
type lasting interface{ Close() }

// place is where a node's resource is found: by its shared name, or else by the node's name in its session.
type place struct{ container, shared, name string }

func (s *site) place() place {
	return place{s.container(), s.str("shared_name", ""), s.node.Name}
}

// lastingThings has the lasting resources of a Resources.
type lastingThings struct {
	room  *dataset.Room
	all   map[queueKey]lasting
	named map[string]any // weak pointers, by the name in string handles
	names map[any]string // names of weak pointers
	next  int
}

// roomOfInputs bounds what all iterators of a server keep.
const roomOfInputs = 8 << 30

func newLastingThings() lastingThings {
	return lastingThings{room: dataset.NewRoom(roomOfInputs), all: map[queueKey]lasting{}, named: map[string]any{}, names: map[any]string{}}
}

// lasting returns the resource at a place; if there is none, it calls make.
func (r *Resources) lasting(e *Env, at place, make func() lasting) lasting {
	key := queueKey{at.container, e.Session, at.name}
	if at.shared != "" {
		key = queueKey{container: at.container, name: at.shared}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.things.all[key]
	if l == nil {
		l = make()
		r.things.all[key] = l
	}
	return l
}

// nameOf returns a name for a resource, for string handles. The name does not keep the resource alive.
func nameOf[T any](r *Resources, it *T) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := weak.Make(it)
	name, ok := r.things.names[w]
	if !ok {
		name = fmt.Sprintf("_%d", r.things.next)
		r.things.next++
		r.things.named[name], r.things.names[w] = w, name
		runtime.AddCleanup(it, r.unname, any(w))
	}
	return name
}

// named returns the resource with a name from a string handle, or nil if there is none.
func named[T any](r *Resources, name string) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, _ := r.things.named[name].(weak.Pointer[T])
	return w.Value()
}

// unname drops the name of a weak pointer.
func (r *Resources) unname(w any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.things.unname(w)
}

func (t *lastingThings) unname(w any) {
	delete(t.named, t.names[w])
	delete(t.names, w)
}

// weakly returns a weak pointer to a resource that may have a name.
func weakly(l lasting) any {
	switch l := l.(type) {
	case *iterator:
		return weak.Make(l)
	case *multiDevice:
		return weak.Make(l)
	}
	return nil
}

// end removes resources, which the caller closes without holding the mutex. The mutex is held.
func (t *lastingThings) end(which func(k queueKey) bool) (ended []lasting) {
	maps.DeleteFunc(t.all, func(k queueKey, l lasting) bool {
		if !which(k) {
			return false
		}
		t.unname(weakly(l))
		ended = append(ended, l)
		return true
	})
	return ended
}

func closeAll(all []lasting) {
	for _, l := range all {
		l.Close()
	}
}
