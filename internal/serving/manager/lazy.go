package manager

import (
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// acquireLazy loads a requested model and waits for it, for at most LazyWait.
func (m *Manager) acquireLazy(name string, v servable.Version) (servable.Handle, error) {
	timeout := time.NewTimer(m.o.LazyWait)
	defer timeout.Stop()
	for {
		changed, more := m.requestLoad(name)
		h, again, err := m.acquireOrWait(name, v, changed, more)
		if !again {
			return h, err
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, status.Errorf(codes.Unavailable, "model %s is still being loaded after %v: try again", name, m.o.LazyWait)
		}
	}
}

// acquireOrWait acquires a model after requestLoad returned changed and more; again says to retry when changed is closed. It
// does not hold m.mu: a model that was loaded may have been evicted since.
func (m *Manager) acquireOrWait(name string, v servable.Version, changed <-chan struct{}, more bool) (h servable.Handle, again bool, err error) {
	r, h, err := m.tryAcquire(name, v)
	if h != nil {
		return h, false, nil
	}
	if err == nil && r != nil && !more {
		m.mu.Lock()
		more = m.changed != changed
		m.mu.Unlock()
	}
	if err != nil || r == nil || !more {
		return nil, false, missing(name, v, r, err)
	}
	return nil, true, nil
}

// requestLoad starts to load a model and reports whether there is something to wait for: changed is closed at the next change.
func (m *Manager) requestLoad(name string) (changed <-chan struct{}, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.models[name]
	if f == nil || f.cfg == nil || m.closed {
		return m.changed, false
	}
	if !f.wanted {
		f.wanted = true
		f.served.used.Store(m.uses.Add(1))
		m.evict(f)
		m.aspire(f)
	}
	return m.changed, !f.converged()
}

// evict unloads the least recently requested models until no more than Lazy are wanted. asked is kept, although others may
// have been requested since. m.mu is held.
func (m *Manager) evict(asked *model) {
	for {
		wanted := 0
		var oldest *model
		for _, f := range m.models {
			if !f.wanted || f.cfg == nil {
				continue
			}
			wanted++
			if f != asked && (oldest == nil || f.served.used.Load() < oldest.served.used.Load()) {
				oldest = f
			}
		}
		if wanted <= m.o.Lazy {
			return
		}
		oldest.wanted = false
		m.aspire(oldest)
	}
}
