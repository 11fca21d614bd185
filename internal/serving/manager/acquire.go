package manager

import (
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// served is what requests see of a model. It is read without locks: a change of
// versions replaces live whole.
type servedModel struct {
	versions atomic.Pointer[snapshot]
	used     atomic.Int64 // value of Manager.uses when it was last asked for; lazy models only
}

// available is the available versions of a model at one moment.
type snapshot struct {
	versions []*entry // the newest first
	labels   map[string]int64
}

func newServedModel() *servedModel {
	r := &servedModel{}
	r.versions.Store(&snapshot{})
	return r
}

// find returns the version that is asked for, nil where it is not available.
func (l *snapshot) find(v servable.Version) (*entry, error) {
	number, exact := v.Number, v.Exact
	if v.Label != "" {
		n, ok := l.labels[v.Label]
		if !ok {
			return nil, status.Errorf(codes.InvalidArgument, "Unrecognized servable version label: %s", v.Label)
		}
		number, exact = n, true
	}
	for _, e := range l.versions {
		if !exact || e.id.Version == number {
			return e, nil
		}
	}
	return nil, nil
}

// Acquire implements servable.Source. It takes no lock and waits for nothing,
// except that a lazy model is loaded first.
func (m *Manager) Acquire(name string, v servable.Version) (servable.Handle, error) {
	r, h, err := m.tryAcquire(name, v)
	if h != nil {
		return h, nil
	}
	if err == nil && r != nil && m.o.Lazy > 0 {
		return m.acquireLazy(name, v)
	}
	return nil, missing(name, v, r, err)
}

// tryAcquire returns a handle, or nil where the version is not available; and
// the model's row, nil where there is no such model.
func (m *Manager) tryAcquire(name string, v servable.Version) (*servedModel, servable.Handle, error) {
	r := (*m.served.Load())[name]
	if r == nil {
		return nil, nil, nil
	}
	if m.o.Lazy > 0 {
		r.used.Store(m.uses.Add(1))
	}
	for {
		e, err := r.versions.Load().find(v)
		if e == nil {
			return r, nil, err
		}
		if e.acquire() {
			return r, &handle{e: e}, nil
		}
		// e has been taken out of the snapshot since: look again.
	}
}

// missing is the error for a version that is not available.
func missing(name string, v servable.Version, r *servedModel, err error) error {
	switch {
	case err != nil:
		return err
	case v.Label == "":
		return servable.NotFound(name, v)
	case r == nil:
		return status.Errorf(codes.InvalidArgument, "Unrecognized servable version label: %s", v.Label)
	}
	return servable.NotFound(name, servable.Version{Number: r.versions.Load().labels[v.Label], Exact: true})
}

// publish shows requests what is available of f. m.mu is held.
func (m *Manager) publish(f *model) {
	f.served.versions.Store(&snapshot{versions: f.available(), labels: f.served.versions.Load().labels})
}

// setLabels replaces the labels of f. m.mu is held.
func (m *Manager) setLabels(f *model, labels map[string]int64) {
	f.served.versions.Store(&snapshot{versions: f.served.versions.Load().versions, labels: labels})
}
