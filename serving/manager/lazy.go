package manager

import (
	"time"

	"github.com/goestimator/goestimator/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// acquireLazy loads a model that is asked for and waits for it, not longer than LazyWait.
func (m *Manager) acquireLazy(name string, v servable.Version) (servable.Handle, error) {
	patience := time.NewTimer(m.o.LazyWait)
	defer patience.Stop()
	for {
		changed, more := m.wake(name)
		r, h, err := m.tryAcquire(name, v)
		if h != nil {
			return h, nil
		}
		if err != nil || r == nil || !more {
			return nil, missing(name, v, r, err)
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, status.Errorf(codes.Unavailable, "model %s is still being loaded after %v: try again", name, m.o.LazyWait)
		}
	}
}

// wake has a model loaded and reports whether there is something to wait for:
// changed is closed at the next change.
func (m *Manager) wake(name string) (changed <-chan struct{}, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.models[name]
	if f == nil || f.cfg == nil || m.closed {
		return nil, false
	}
	if !f.wanted {
		f.wanted = true
		f.row.used.Store(m.uses.Add(1))
		m.evict()
		m.aspire(f)
	}
	return m.changed, !f.settled()
}

// evict unloads the models that were not asked for the longest, until no more
// than Lazy are wanted. m.mu is held.
func (m *Manager) evict() {
	for {
		wanted := 0
		var oldest *model
		for _, f := range m.models {
			if !f.wanted || f.cfg == nil {
				continue
			}
			wanted++
			if oldest == nil || f.row.used.Load() < oldest.row.used.Load() {
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
