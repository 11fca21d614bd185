package eager

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/goestimator/goestimator/internal/imported/queue"
)

// maxQueued bounds the bytes waiting in the queues, accumulators and barriers of a Resources.
const maxQueued = 4 << 30

// shared is a resource that steps find by name: a queue, an accumulator or a barrier.
type shared interface{ Discard() }

// sharedKey identifies a shared resource. A resource without a shared name belongs to a session.
type sharedKey struct {
	kind string
	queueKey
}

// queueKey identifies a resource among others of its kind.
type queueKey struct{ container, session, name string }

// sharing has the attributes by which a node's resource is found.
type sharing struct{ kind, container, shared, node string }

// sharing reads the attributes of a node that makes a resource of the kind.
func (s *site) sharing(kind string) sharing {
	h := sharing{kind: kind, container: s.container(), shared: s.str("shared_name", ""), node: s.node.Name}
	if strings.HasPrefix(h.shared, "_") {
		s.fail("shared_name cannot start with '_':%s", h.shared)
	}
	return h
}

// container reads the name of a node's container.
func (s *site) container() string {
	name := s.str("container", "")
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', i > 0 && (c == '-' || c == '/'):
		default:
			s.fail("container contains invalid characters: %s", name)
		}
	}
	return name
}

// find returns the resource of a node, made by create if there is none.
func (h sharing) find(c call, create func(name string, room *queue.Room) shared) (shared, error) {
	if c.env == nil || c.env.Resources == nil {
		return nil, errors.New(h.kind + "s need Env.Resources")
	}
	r := c.env.Resources
	key := sharedKey{h.kind, queueKey{h.container, c.env.Session, h.node}}
	if h.shared != "" {
		key.session, key.name = "", h.shared
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.shared[key]
	if found == nil {
		name := h.shared
		if name == "" {
			name = fmt.Sprintf("_%d_%s", r.unnamed, h.node)
			r.unnamed++
		}
		found = create(name, r.room)
		r.shared[key] = found
	}
	return found, nil
}

// Forget drops what belongs to one session alone.
func (r *Resources) Forget(session string) {
	own := func(k queueKey) bool { return session != "" && k.session == session }
	r.mu.Lock()
	ended := r.things.end(own)
	r.mu.Unlock()
	closeAll(ended)
	r.discard(func(k sharedKey) bool { return own(k.queueKey) })
}

// Close drops everything.
func (r *Resources) Close() {
	r.mu.Lock()
	clear(r.vars)
	clear(r.tabs)
	clear(r.trees)
	ended := r.things.end(func(queueKey) bool { return true })
	r.mu.Unlock()
	closeAll(ended)
	r.discard(func(sharedKey) bool { return true })
}

// discard drops the shared resources whose keys are selected.
func (r *Resources) discard(which func(sharedKey) bool) {
	var gone []shared
	r.mu.Lock()
	maps.DeleteFunc(r.shared, func(k sharedKey, s shared) bool {
		if which(k) {
			gone = append(gone, s)
			return true
		}
		return false
	})
	r.mu.Unlock()
	for _, s := range gone {
		s.Discard()
	}
}
