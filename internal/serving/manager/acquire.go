package manager

import (
	"slices"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/traffic"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// servedModel is what requests see of a model. It is read without locks: a change of versions replaces the snapshot as a whole.
type servedModel struct {
	versions atomic.Pointer[snapshot]
	turns    traffic.Sequence // for requests that name no version
	copies   traffic.Sequence // for requests that may be copied
	used     atomic.Int64     // value of Manager.uses when it was last asked for; lazy models only
}

// available is the available versions of a model at one moment.
type snapshot struct {
	versions []*entry // the newest first
	labels   map[string]int64
	rules    traffic.Rules
	split    traffic.Split // of rules, among versions
}

// with returns a snapshot of the versions, with the labels and rules of s.
func (s *snapshot) with(versions []*entry) *snapshot {
	return (&snapshot{versions: versions, labels: s.labels, rules: s.rules}).divide()
}

// divide makes the split.
func (s *snapshot) divide() *snapshot {
	s.split = s.rules.Among(func(version int64) bool {
		return slices.ContainsFunc(s.versions, func(e *entry) bool { return e.id.Version == version })
	})
	return s
}

func newServedModel() *servedModel {
	r := &servedModel{}
	r.versions.Store(&snapshot{})
	return r
}

// share returns the version's share of the requests that name no version, and its share of copies of other versions' requests.
func (s *snapshot) share(version int64) (own, copies float64) {
	switch {
	case !s.split.Empty():
		own = s.split.Share(version)
	case s.versions[0].id.Version == version:
		own = 1
	}
	if x := s.rules.Shadow; x != nil && x.Version == version {
		copies = x.Percent / 100
	}
	return own, copies
}

// find returns the requested version, nil if it is not available. turns is used for requests that name none.
func (l *snapshot) find(v servable.Version, turns *traffic.Sequence) (*entry, error) {
	number, exact := v.Number, v.Exact
	switch {
	case v.Label != "":
		n, ok := l.labels[v.Label]
		if !ok {
			return nil, status.Errorf(codes.InvalidArgument, "Unrecognized servable version label: %s", v.Label)
		}
		number, exact = n, true
	case exact || l.split.Empty():
	case v.Main:
		number, exact = l.split.Main(), true
	case v.Key != "":
		number, exact = l.split.PickBy(v.Key), true
	default:
		number, exact = l.split.Pick(turns.Next()), true
	}
	for _, e := range l.versions {
		if !exact || e.id.Version == number {
			return e, nil
		}
	}
	return nil, nil
}

// Acquire implements servable.Source. It takes no lock and never waits, except to load a lazy model.
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

// tryAcquire returns a handle, or nil if the version is not available, and the model's row, or nil if there is no such model.
func (m *Manager) tryAcquire(name string, v servable.Version) (*servedModel, servable.Handle, error) {
	r := (*m.served.Load())[name]
	if r == nil {
		return nil, nil, nil
	}
	if m.o.Lazy > 0 {
		r.used.Store(m.uses.Add(1))
	}
	for {
		e, err := r.versions.Load().find(v, &r.turns)
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

// publish makes the available versions of f visible to requests. m.mu is held.
func (m *Manager) publish(f *model) {
	f.served.versions.Store(f.served.versions.Load().with(f.available()))
}

// route replaces the labels of f and its traffic rules. m.mu is held.
func (m *Manager) route(f *model, labels map[string]int64, rules traffic.Rules) {
	s := &snapshot{versions: f.served.versions.Load().versions, labels: labels, rules: rules}
	f.served.versions.Store(s.divide())
}

// Shadow returns the version that gets a copy of a request that another version answered; nil: none.
func (m *Manager) Shadow(answered servable.ID) *traffic.Shadow {
	r := (*m.served.Load())[answered.Name]
	if r == nil {
		return nil
	}
	x := r.versions.Load().rules.Shadow
	if x == nil || x.Version == answered.Version || r.copies.Next() >= x.Percent/100 {
		return nil
	}
	return x
}
