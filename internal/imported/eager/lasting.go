package eager

import (
	"fmt"
	"maps"

	"github.com/goestimator/goestimator/internal/imported/dataset"
)

// lasting is a resource that outlives steps and has something to end: iterators, readers and writers of files.
type lasting interface{ Close() }

// place is where a node's resource is found: by its shared name, or else by the node's in its session.
type place struct{ container, shared, name string }

func (s *site) place() place {
	return place{s.container(), s.str("shared_name", ""), s.node.Name}
}

// lastingThings are the lasting resources of a Resources.
type lastingThings struct {
	room  *dataset.Room
	all   map[queueKey]lasting
	names map[string]lasting // by what string handles say
	keys  map[lasting]string // of names
	next  int
}

// roomOfInputs bounds what all iterators of a server keep.
const roomOfInputs = 8 << 30

func newLastingThings() lastingThings {
	return lastingThings{room: dataset.NewRoom(roomOfInputs), all: map[queueKey]lasting{}, names: map[string]lasting{}, keys: map[lasting]string{}}
}

// lasting returns the resource of a place, which make makes where there is none.
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

// nameOf returns what a string handle says of a resource.
func (r *Resources) nameOf(l lasting) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, ok := r.things.keys[l]
	if !ok {
		name = fmt.Sprintf("_%d", r.things.next)
		r.things.next++
		r.things.names[name], r.things.keys[l] = l, name
	}
	return name
}

// named returns the resource that a string handle says, nil where there is none.
func (r *Resources) named(name string) lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.things.names[name]
}

// drop forgets a name.
func (r *Resources) drop(l lasting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.things.names, r.things.keys[l])
	delete(r.things.keys, l)
}

// end takes resources out, to be closed by the caller without the mutex. The mutex is held.
func (t *lastingThings) end(which func(k queueKey) bool) (ended []lasting) {
	maps.DeleteFunc(t.all, func(k queueKey, l lasting) bool {
		if !which(k) {
			return false
		}
		delete(t.names, t.keys[l])
		delete(t.keys, l)
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
